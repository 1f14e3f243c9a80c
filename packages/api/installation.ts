/** Names that an installation of hookbox has on a cluster. @module */

/** The default namespace of hooks, keeper and binder. */
export const SYSTEM_NAMESPACE = "hookbox-system";

/**
 * Namespace of the router. Clients of the Agent Sandbox APIs expect the router there, and the NetworkPolicies of
 * templates allow traffic from this namespace.
 */
export const ROUTER_NAMESPACE = "agent-sandbox-system";

/** URL of the router in the cluster, as the manifests name it. */
export const ROUTER_URL = `http://sandbox-router-svc.${ROUTER_NAMESPACE}:8080`;

/** Audience of tokens that are only for the router. The API server does not accept them. */
export const ROUTER_AUDIENCE = "hookbox-router";

/** Name of the Lease that the active keeper holds. */
export const KEEPER_LEASE = "hookbox-keeper";

/** Name of the Lease that the active binder holds. */
export const BINDER_LEASE = "hookbox-binder";

/** Name of the Secret from which IDs and tokens of E2B's clients follow, in the router's namespace. */
export const E2B_SECRET = "hookbox-e2b";
