/** Annotations and labels of the router: what users tell it, and what it says. @module */

/** Annotations that the router reads begin with this; the others are not kept. */
export const ANNOTATION_PREFIX = "router.agents.x-k8s.io/";

/** Annotation on Sandboxes, set by users: `false` keeps requests from waking it. */
export const WAKE_ANNOTATION = `${ANNOTATION_PREFIX}wake`;
/** Annotation of routers: when one last woke the Sandbox, RFC 3339. */
export const WOKEN_AT_ANNOTATION = `${ANNOTATION_PREFIX}woken-at`;
/**
 * Annotation of routers: why and when one last suspended the Sandbox, and of which UID and generation that made it, as JSON.
 * A wake through a router removes it; whoever else resumes the Sandbox leaves it. So it is only about the present suspension
 * if UID and generation are the Sandbox's own (packages/router/idle/suspension.ts).
 */
export const SUSPENDED_ANNOTATION = `${ANNOTATION_PREFIX}suspended`;
/**
 * Annotation of routers: that one has set `shutdownTime`, and what was there before, as JSON. The time counts for as long as
 * the spec stays as it is (packages/api/expiry.ts).
 */
export const EXPIRED_ANNOTATION = `${ANNOTATION_PREFIX}idle-expired`;
/** Annotation of routers: when one first saw traffic to a Sandbox that has an idle policy, RFC 3339. */
export const FIRST_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}first-active-at`;
/** Annotation of routers: when one last saw traffic, RFC 3339, a blank, and which one. */
export const ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}active-at`;

/** Annotation, set by users on a Sandbox or its Pod template: suspend it after so many idle seconds. Without it: never. */
export const IDLE_ANNOTATION = `${ANNOTATION_PREFIX}idle-seconds`;
/** The same by the name that the contract proposes (its design of auto-suspension); counts only where ours is absent. */
export const IDLE_TIMEOUT_ANNOTATION = "agents.x-k8s.io/idle-timeout-seconds";
/** Other names of annotations that users set, by ours. */
export const OTHER_NAMES: Readonly<Record<string, string>> = { [IDLE_ANNOTATION]: IDLE_TIMEOUT_ANNOTATION };
/** Annotation, as above: how many seconds without traffic work of its own keeps it up; without it any number. */
export const MAX_ACTIVE_ANNOTATION = `${ANNOTATION_PREFIX}max-active-seconds`;
/** Annotation, as above: cores that count as idle all the same. */
export const CPU_ANNOTATION = `${ANNOTATION_PREFIX}idle-cpu`;
/** Annotation, as above: let it expire so many seconds after it was suspended for being idle. */
export const DELETE_ANNOTATION = `${ANNOTATION_PREFIX}idle-delete-seconds`;

/** Label on Leases: name of the Sandbox that stays up as long as the Lease is held. */
export const HOLD_LABEL = `${ANNOTATION_PREFIX}holds`;
