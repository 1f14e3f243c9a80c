/** The labels and annotations of the contract, and which of them are reserved. Source: Agent Sandbox API, section 4. @module */

const PREFIX = "agents.x-k8s.io/";
const RESERVED_PREFIXES = [PREFIX, "extensions.agents.x-k8s.io/"];

/** Label on Pod, Service and PVC: hash of the Sandbox's name; Service selector and `status.selector`. */
export const NAME_HASH_LABEL = `${PREFIX}sandbox-name-hash`;
/** Label on what the operator lets a Sandbox take over: value `true`. */
export const ADOPTABLE_LABEL = `${PREFIX}adoptable`;
/** Label on pool members and their Pods: hash of the pool's name. */
export const WARM_POOL_LABEL = `${PREFIX}warm-pool-sandbox`;
/** Label on templates, their Sandboxes and Pods: hash of the template's name; NetworkPolicies select by it. */
export const TEMPLATE_REF_HASH_LABEL = `${PREFIX}sandbox-template-ref-hash`;
/** Label on a claim's Sandbox and Pod: UID of the claim. */
export const CLAIM_UID_LABEL = `${PREFIX}claim-uid`;
/** Label on claims, Sandboxes and Pods: which client asked for it. */
export const CREATED_BY_LABEL = `${PREFIX}created-by`;
/** Label on Sandboxes of pools and claims: `warm` (made as a member) or `cold` (made for one claim). */
export const LAUNCH_TYPE_LABEL = `${PREFIX}launch-type`;
/** Label on pool members: hash of what their template said of Pod, volumes and Service. */
export const TEMPLATE_HASH_LABEL = `${PREFIX}sandbox-template-hash`;
/** Label on pool members, deprecated by the contract: hash of the template's Pod alone. */
export const POD_TEMPLATE_HASH_LABEL = `${PREFIX}sandbox-pod-template-hash`;
/**
 * Label on pools and Sandboxes, set by users: which controllers look after them, where several share the work. A pool's
 * Sandboxes have it from birth.
 */
export const SHARD_LABEL = `${PREFIX}shard`;
/** Label on what a pool is about to delete; the value says why. Never taken back: what carries it is never handed over. */
export const DRAINING_LABEL = `${PREFIX}draining`;
/** Annotation on NetworkPolicies of templates: `<UID>/<generation>` of the template that the rules come from. */
export const TEMPLATE_GENERATION_ANNOTATION = `${PREFIX}template-generation`;
/** Annotation on Sandboxes that a pool has made: name of their template. */
export const TEMPLATE_REF_ANNOTATION = `${PREFIX}sandbox-template-ref`;
/** Annotation on Sandboxes: name of their Pod. Ours have it from pools, for clients before 1.0; of the Go controller all do. */
export const POD_NAME_ANNOTATION = `${PREFIX}pod-name`;
/** Annotation on Pods that a Sandbox's hook has made: hash of the spec that they were made from. */
export const POD_SPEC_HASH_ANNOTATION = `${PREFIX}pod-spec-hash`;
/**
 * Annotation on Pods that were created after the Sandbox had lost its Pod: `<losses> <time>`, how many Pods it had lost and
 * when this one was created; RFC 3339 with milliseconds.
 */
export const POD_LOSSES_ANNOTATION = `${PREFIX}pod-losses`;
/** Annotation on pool members: `<own number>/<number of the first that was made along with it>`. */
export const POOL_SEQUENCE_ANNOTATION = `${PREFIX}pool-sequence`;
/** Annotation on members of a pool that is limited in how fast it makes them, `limited`: then nobody else makes any. */
export const REFILL_ANNOTATION = `${PREFIX}refill`;
/** Annotation on pools: when the binder last told them of members that it has handed over; RFC 3339 with milliseconds. */
export const HANDED_OVER_AT_ANNOTATION = `${PREFIX}handed-over-at`;
/** Annotation on Sandboxes, claims and pools, set by users: until then, RFC 3339, their hook's guard counts no losses. */
export const LOSSES_ALLOWED_ANNOTATION = `${PREFIX}losses-allowed-until`;
/** Annotation on Sandboxes that a pool made for one claim alone before there was a binder: UID of that claim. */
export const FOR_CLAIM_ANNOTATION = `${PREFIX}for-claim`;
/** Annotation on a claim's Sandbox: when it was handed over, RFC 3339 with milliseconds. */
export const ASSIGNED_AT_ANNOTATION = `${PREFIX}assigned-at`;
/** Annotation on a claim's Sandbox: the claim's `additionalPodMetadata` that it carries, as JSON. */
export const CLAIM_METADATA_ANNOTATION = `${PREFIX}claim-pod-metadata`;
/** Annotation on what has said nothing for seconds: when keeper or binder had its hook asked; RFC 3339 with milliseconds. */
export const WOKEN_AT_ANNOTATION = `${PREFIX}woken-at`;
/** Annotation on claims: name of the Sandbox that they were given. */
export const SANDBOX_NAME_ANNOTATION = `${PREFIX}sandbox-name`;
/** Annotation on claims: when a controller first saw them, RFC 3339 with milliseconds. */
export const FIRST_OBSERVED_ANNOTATION = `${PREFIX}controller-first-observed-at`;
/** Annotation on claims: when their client asked for them, RFC 3339. */
export const CLIENT_REQUESTED_ANNOTATION = `${PREFIX}client-first-requested-at`;
/** Annotation on claims: when an admission webhook first saw them, RFC 3339; hookbox has none. */
export const WEBHOOK_OBSERVED_ANNOTATION = `${PREFIX}webhook-first-observed-at`;
/** Annotation on claims: when they first became Ready, RFC 3339 with milliseconds; `unknown` if nobody took note. */
export const FIRST_READY_ANNOTATION = `${PREFIX}claim-first-ready-at`;
/** Annotation on Pods: whether the cluster autoscaler may evict them; pools say `true` of members that nobody uses. */
export const SAFE_TO_EVICT_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/** Annotation of Metacontroller on attachments: name of the DecoratorController that they belong to. */
export const DECORATOR_ANNOTATION = "metacontroller.k8s.io/decorator-controller";
/** Its value on the Sandboxes of pools and claims, and on the NetworkPolicies of templates. */
export const CLAIM_CONTROLLER = "sandboxclaim";
export const TEMPLATE_CONTROLLER = "sandboxtemplate";
/** Annotation on Pods: sorted, comma-joined keys of the labels taken from the template. */
export const PROPAGATED_LABELS_ANNOTATION = `${PREFIX}propagated-labels`;
/** Annotation on Pods: sorted, comma-joined keys of the annotations taken from the template. */
export const PROPAGATED_ANNOTATIONS_ANNOTATION = `${PREFIX}propagated-annotations`;
/** Annotation on Sandboxes and claims: W3C trace context as JSON; never reaches a Pod. */
export const TRACE_CONTEXT_ANNOTATION = "opentelemetry.io/trace-context";
/**
 * Annotation written by the keeper: why a child of a Sandbox, pool or template cannot be created, changed or deleted
 * (packages/api/unresolved.ts).
 */
export const UNRESOLVED_ANNOTATION = `${PREFIX}unresolved`;
/**
 * Annotation on the Sandboxes of claims, written by the keeper: the API server does not let Metacontroller change or delete
 * this Sandbox (packages/api/claims/refusedwrite.ts).
 */
export const REFUSED_WRITE_ANNOTATION = `${PREFIX}refused-write`;

/** Tells whether a key belongs to the controllers: template metadata never carries it to a Pod. */
export function isReservedKey(key: string): boolean {
  return RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** Label that Metacontroller puts on the children of a composite with `generateSelector`: UID of the parent. */
export const CONTROLLER_UID_LABEL = "controller-uid";

/**
 * Tells whether a key is Metacontroller's own bookkeeping. A template that brings one along must not get through: a wrong
 * `controller-uid` makes Metacontroller refuse the whole answer.
 */
export function isEngineKey(key: string): boolean {
  return key === CONTROLLER_UID_LABEL || key.startsWith("metacontroller.k8s.io/");
}
