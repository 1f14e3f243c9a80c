/** Names that an installation of hookbox has on a cluster. @module */

/** The default namespace of hooks, keeper and binder. */
export const SYSTEM_NAMESPACE = "hookbox-system";

/** Name of the Lease that the active keeper holds. */
export const KEEPER_LEASE = "hookbox-keeper";

/** Name of the Lease that the active binder holds. */
export const BINDER_LEASE = "hookbox-binder";
