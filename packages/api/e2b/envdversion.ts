/** The version of envd's protocol that hookbox's runtime speaks. @module */

/** Version that E2B's SDKs compare to decide what a sandbox can do. */
export const ENVD_VERSION = "0.6.13";
