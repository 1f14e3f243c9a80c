/** Annotations and labels of the router: what users tell it, and what it says. @module */

/** Annotations that the router reads begin with this; the others are not kept. */
export const ANNOTATION_PREFIX = "router.agents.x-k8s.io/";

/** Annotation on Sandboxes, set by users: `false` keeps requests from waking it. */
export const WAKE_ANNOTATION = `${ANNOTATION_PREFIX}wake`;
/** Annotation of routers: when one last woke the Sandbox, RFC 3339. */
export const WOKEN_AT_ANNOTATION = `${ANNOTATION_PREFIX}woken-at`;
/**
 * Annotation of routers, as JSON: why and when a router last suspended the Sandbox, and the UID and generation that the
 * Sandbox had then. If a router wakes the Sandbox, it removes the annotation. Other ways to resume the Sandbox leave it. The
 * annotation is therefore about the present suspension only if UID and generation match
 * (packages/router/idle/suspension.ts).
 */
export const SUSPENDED_ANNOTATION = `${ANNOTATION_PREFIX}suspended`;
/**
 * Annotation of routers, as JSON: the `shutdownTime` that a router has set, and the fields that the router has replaced. The
 * time counts for the Sandbox of that UID, as long as nobody changes the spec (packages/api/expiry.ts).
 */
export const EXPIRED_ANNOTATION = `${ANNOTATION_PREFIX}idle-expired`;
/** Annotation of routers: when one first saw traffic to a Sandbox that has an idle policy, RFC 3339. */
export const FIRST_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}first-active-at`;
/** Annotation of routers: when one last saw traffic, RFC 3339, a blank, and which one. */
export const ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}active-at`;

/** Annotation, set by users on a Sandbox or its Pod template: suspend it after so many idle seconds. Without it: never. */
export const IDLE_ANNOTATION = `${ANNOTATION_PREFIX}idle-seconds`;
/** The contract's proposed name of the same annotation (its design of auto-suspension). Counts only if ours is absent. */
export const IDLE_TIMEOUT_ANNOTATION = "agents.x-k8s.io/idle-timeout-seconds";
/** Other names of annotations that users set. The key is our name. */
export const OTHER_NAMES: Readonly<Record<string, string>> = { [IDLE_ANNOTATION]: IDLE_TIMEOUT_ANNOTATION };
/** Annotation, as above: how many seconds without traffic work of its own keeps it up; without it any number. */
export const MAX_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}max-active-seconds`;
/** Annotation, as above: cores that count as idle all the same. */
export const CPU_ANNOTATION = `${ANNOTATION_PREFIX}idle-cpu`;
/** Annotation, as above: let it expire so many seconds after it was suspended for being idle. */
export const DELETE_ANNOTATION = `${ANNOTATION_PREFIX}idle-delete-seconds`;

/** Label on Leases: name of the Sandbox that stays up as long as the Lease is held. */
export const HOLD_LABEL = `${ANNOTATION_PREFIX}holds`;
