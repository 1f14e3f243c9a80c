/** Names that an installation of hookbox has on a cluster. Pure. @module */

/** The namespace of hooks, keeper and binder, unless somebody says otherwise. */
export const SYSTEM_NAMESPACE = "hookbox-system";

/** Name of the Lease that the keeper holds as long as it acts. */
export const KEEPER_LEASE = "hookbox-keeper";

/** Name of the Lease that the binder holds as long as it serves claims. */
export const BINDER_LEASE = "hookbox-binder";
