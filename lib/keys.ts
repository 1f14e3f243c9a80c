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
/** Annotation on Pods: sorted, comma-joined keys of the labels taken from the template. */
export const PROPAGATED_LABELS_ANNOTATION = `${PREFIX}propagated-labels`;
/** Annotation on Pods: sorted, comma-joined keys of the annotations taken from the template. */
export const PROPAGATED_ANNOTATIONS_ANNOTATION = `${PREFIX}propagated-annotations`;
/** Annotation on Sandboxes and claims: W3C trace context as JSON; never reaches a Pod. */
export const TRACE_CONTEXT_ANNOTATION = "opentelemetry.io/trace-context";
/** Annotation on Sandboxes, written by the keeper: what keeps a child from being made, see api/unresolved.ts. */
export const UNRESOLVED_ANNOTATION = `${PREFIX}unresolved`;

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
