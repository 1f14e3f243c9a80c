/**
 * Timeouts in milliseconds on which the router, the runtime and their clients rely together. Other values are derived
 * from them, so a change here changes those too. @module
 */

/** How long a router holds a request for a Sandbox that is resuming or starting, if it is not configured otherwise. */
export const WAKE_TIMEOUT_MS = 120_000;
/** How long the router then waits for the headers of the answer, if it is not configured otherwise. */
export const RESPONSE_HEADER_TIMEOUT_MS = 180_000;

/** How often a runtime sends a sign of life on the stream of a watched folder. */
export const ALIVE_MS = 15_000;
