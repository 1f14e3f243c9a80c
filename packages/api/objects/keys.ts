/**
 * The labels and annotations of Agent Sandbox and hookbox, and which keys are reserved. Source: Agent Sandbox API,
 * section 4. @module
 */

const PREFIX = "agents.x-k8s.io/";
const RESERVED_PREFIXES = [PREFIX, "extensions.agents.x-k8s.io/"];

/**
 * Label on Pods, Services and PersistentVolumeClaims: hash of the Sandbox's name. It is the selector of the Service and
 * of `status.selector`.
 */
export const NAME_HASH_LABEL = `${PREFIX}sandbox-name-hash`;
/** Label on objects that a Sandbox may take over, set by an operator: `true`. */
export const ADOPTABLE_LABEL = `${PREFIX}adoptable`;
/** Label on pool members and their Pods: hash of the pool's name. */
export const WARM_POOL_LABEL = `${PREFIX}warm-pool-sandbox`;
/** Label on templates, their Sandboxes and Pods: hash of the template's name. NetworkPolicies select by it. */
export const TEMPLATE_REF_HASH_LABEL = `${PREFIX}sandbox-template-ref-hash`;
/** Label on a claim's Sandbox and Pod: UID of the claim. */
export const CLAIM_UID_LABEL = `${PREFIX}claim-uid`;
/** Label on claims, Sandboxes and Pods: the client that created the claim or the Sandbox. */
export const CREATED_BY_LABEL = `${PREFIX}created-by`;
/** Label on Sandboxes of pools and claims: `warm` (created as a pool member) or `cold` (created for one claim). */
export const LAUNCH_TYPE_LABEL = `${PREFIX}launch-type`;
/** Label on pool members: hash of the template's fields for Pod, volumes and Service. */
export const TEMPLATE_HASH_LABEL = `${PREFIX}sandbox-template-hash`;
/** Label on pool members: hash of the template's Pod spec only. Agent Sandbox has deprecated it. */
export const POD_TEMPLATE_HASH_LABEL = `${PREFIX}sandbox-pod-template-hash`;
/**
 * Label on pools and Sandboxes, set by users: which controllers are responsible for them, if several installations
 * share the work. A pool's Sandboxes have the pool's label from their creation.
 */
export const SHARD_LABEL = `${PREFIX}shard`;
/**
 * Label on Sandboxes that a pool is about to delete. The value is the reason. The label is never removed, and the
 * Sandbox is never bound to a claim.
 */
export const DRAINING_LABEL = `${PREFIX}draining`;
/**
 * Annotation on NetworkPolicies of templates: `<UID>/<generation>` of the template from which the rules were computed.
 */
export const TEMPLATE_GENERATION_ANNOTATION = `${PREFIX}template-generation`;
/** Annotation on Sandboxes of a pool: name of their template. */
export const TEMPLATE_REF_ANNOTATION = `${PREFIX}sandbox-template-ref`;
/**
 * Annotation on Sandboxes: name of their Pod. Pools set it for clients before 1.0. The Go controller sets it on all
 * Sandboxes.
 */
export const POD_NAME_ANNOTATION = `${PREFIX}pod-name`;
/** Annotation on Pods that the Sandbox hook has created: hash of the spec from which the Pod was created. */
export const POD_SPEC_HASH_ANNOTATION = `${PREFIX}pod-spec-hash`;
/**
 * Annotation on Pods that were created after the Sandbox had lost its Pod: `<losses> <time>`, the number of lost Pods,
 * and when this Pod was created (RFC 3339 with milliseconds).
 */
export const POD_LOSSES_ANNOTATION = `${PREFIX}pod-losses`;
/**
 * Annotation on pool members: `<number of the member>/<number of the first member that was created together with it>`.
 */
export const POOL_SEQUENCE_ANNOTATION = `${PREFIX}pool-sequence`;
/**
 * Annotation on members of a pool with a limited refill rate: `limited`. Only the pool creates members then, not the
 * binder.
 */
export const REFILL_ANNOTATION = `${PREFIX}refill`;
/**
 * Annotation on templates, set by users: `Allowed` lets the claims of the template have a pool member in spite of their
 * environment variables, files and start command, which the member gets while it runs. On a claim's Sandbox, set by the binder: `Required`, so
 * each of its Pods must get them.
 */
export const LATE_BINDING_ANNOTATION = `${PREFIX}late-binding`;
/**
 * Annotation on claims, set by users: environment variables with values from Secrets of the claim's namespace, as
 * `NAME=secret/key`, separated by commas. The admission policy `hookbox-claim-secrets` lets only users set it who may read
 * these Secrets.
 */
export const SECRET_ENV_ANNOTATION = `${PREFIX}secret-env`;
/** As {@link SECRET_ENV_ANNOTATION}, for files of the sandbox: `PATH=secret/key`, separated by commas. */
export const SECRET_FILES_ANNOTATION = `${PREFIX}secret-files`;
/** Annotation on claims, set by users: a command for `sh -c`, which runs once in each Pod when it has what the claim sets. */
export const START_COMMAND_ANNOTATION = `${PREFIX}start-command`;
/**
 * Annotation on templates, set by users: within which bounds claims may choose the resources of the first container, as
 * `cpu=250m..4,memory=256Mi..8Gi`. Without it they may not.
 */
export const CLAIM_RESOURCES_ANNOTATION = `${PREFIX}claim-resources`;
/** Annotation on claims, set by users: the resources of the first container, as `cpu=2,memory=4Gi`. */
export const RESOURCES_ANNOTATION = `${PREFIX}resources`;
/**
 * Annotation on a claim's Sandbox, set by the binder: its Pod is resized in place for the claim. The value has two hashes
 * as in {@link POD_SPEC_HASH_ANNOTATION}, of the spec from which the Pod was created and of the resized one.
 */
export const RESIZED_ANNOTATION = `${PREFIX}resized`;
/**
 * Annotation on a claim's Sandbox, set by the binder: why it was started for a claim that asks for resources, although a
 * pool exists.
 */
export const NOT_RESIZED_ANNOTATION = `${PREFIX}not-resized`;
/** Annotation on templates and claims, set by users: the hosts and networks that sandboxes reach, separated by commas. */
export const EGRESS_ALLOW_ANNOTATION = `${PREFIX}egress-allow`;
/**
 * Annotation on templates and claims, set by users: headers with values from Secrets of the namespace, as
 * `HOST HEADER=[SCHEME ]SECRET/KEY`, separated by commas. The admission policy `hookbox-claim-headers` lets only users set
 * it on a claim who may read these Secrets.
 */
export const EGRESS_HEADERS_ANNOTATION = `${PREFIX}egress-headers`;
/** Annotation on templates, set by users: `Allowed` lets claims have headers, for hosts that the template allows. */
export const EGRESS_CLAIM_HEADERS_ANNOTATION = `${PREFIX}egress-claim-headers`;
/** Annotation on pools: when the binder last reported that it has bound members (RFC 3339 with milliseconds). */
export const HANDED_OVER_AT_ANNOTATION = `${PREFIX}handed-over-at`;
/** Annotation on pools, written with `handed-over-at`: how many members the pool then lacked that nobody was creating. */
export const MISSING_MEMBERS_ANNOTATION = `${PREFIX}missing-members`;
/**
 * Annotation on Sandboxes, claims and pools, set by users. Until this time (RFC 3339), the guard of their hook does not
 * count deletions.
 */
export const LOSSES_ALLOWED_ANNOTATION = `${PREFIX}losses-allowed-until`;
/** Annotation on Sandboxes that a pool created for one claim, before hookbox had a binder: UID of the claim. */
export const FOR_CLAIM_ANNOTATION = `${PREFIX}for-claim`;
/** Annotation on a claim's Sandbox: when it was bound (RFC 3339 with milliseconds). */
export const ASSIGNED_AT_ANNOTATION = `${PREFIX}assigned-at`;
/** Annotation on a claim's Sandbox: the `additionalPodMetadata` that the claim has added to it, as JSON. */
export const CLAIM_METADATA_ANNOTATION = `${PREFIX}claim-pod-metadata`;
/**
 * Annotation on Sandboxes, templates and pools: when the keeper or binder last requeued the object (RFC 3339 with milliseconds).
 */
export const WOKEN_AT_ANNOTATION = `${PREFIX}woken-at`;
/** Annotation on claims: name of their Sandbox. */
export const SANDBOX_NAME_ANNOTATION = `${PREFIX}sandbox-name`;
/** Annotation on claims: when a controller first observed them (RFC 3339 with milliseconds). */
export const FIRST_OBSERVED_ANNOTATION = `${PREFIX}controller-first-observed-at`;
/** Annotation on claims: when their client requested them (RFC 3339). */
export const CLIENT_REQUESTED_ANNOTATION = `${PREFIX}client-first-requested-at`;
/** Annotation on claims: when an admission webhook first observed them (RFC 3339). hookbox has no such webhook. */
export const WEBHOOK_OBSERVED_ANNOTATION = `${PREFIX}webhook-first-observed-at`;
/** Annotation on claims: when they first became Ready (RFC 3339 with milliseconds); `unknown`: it was not recorded. */
export const FIRST_READY_ANNOTATION = `${PREFIX}claim-first-ready-at`;
/** Annotation on Pods: whether the cluster autoscaler may evict them. Pools set `true` on members that no claim has. */
export const SAFE_TO_EVICT_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/** Annotation on attachments, set by Metacontroller: name of their DecoratorController. */
export const DECORATOR_ANNOTATION = "metacontroller.k8s.io/decorator-controller";
/**
 * Values of `DECORATOR_ANNOTATION`: on the Sandboxes of pools and claims, and on the NetworkPolicies of
 * templates.
 */
export const CLAIM_CONTROLLER = "sandboxclaim";
export const TEMPLATE_CONTROLLER = "sandboxtemplate";
/** Annotation on Pods: sorted, comma-joined keys of the labels taken from the template. */
export const PROPAGATED_LABELS_ANNOTATION = `${PREFIX}propagated-labels`;
/** Annotation on Pods: sorted, comma-joined keys of the annotations taken from the template. */
export const PROPAGATED_ANNOTATIONS_ANNOTATION = `${PREFIX}propagated-annotations`;
/** Annotation on Sandboxes and claims: W3C trace context as JSON. It is never copied to a Pod. */
export const TRACE_CONTEXT_ANNOTATION = "opentelemetry.io/trace-context";
/**
 * Annotation written by the keeper: why a child of a Sandbox, pool or template cannot be created, changed or deleted
 * (packages/api/keeperreports.ts).
 */
export const UNRESOLVED_ANNOTATION = `${PREFIX}unresolved`;
/**
 * Annotation on the Sandboxes of claims, written by the keeper: the API server does not let Metacontroller change or delete
 * this Sandbox (packages/api/keeperreports.ts).
 */
export const REFUSED_WRITE_ANNOTATION = `${PREFIX}refused-write`;

/** Tells whether a key is reserved for controllers. Such a key is never copied from a template to a Pod. */
export function isReservedKey(key: string): boolean {
  return RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** Label on the children of a CompositeController with `generateSelector`, set by Metacontroller: UID of the parent. */
export const CONTROLLER_UID_LABEL = "controller-uid";

/**
 * Tells whether a key is reserved for Metacontroller. A template must not set such keys: with a wrong `controller-uid`,
 * Metacontroller refuses the whole answer.
 */
export function isEngineKey(key: string): boolean {
  return key === CONTROLLER_UID_LABEL || key.startsWith("metacontroller.k8s.io/");
}
