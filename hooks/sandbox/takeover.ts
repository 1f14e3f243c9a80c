/** Labels and annotations that another controller left on a Pod, and that have to go now that the Pod is ours. @module */
import { lastApplied } from "../../lib/apply.ts";
import {
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  PROPAGATED_ANNOTATIONS_ANNOTATION,
  PROPAGATED_LABELS_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  WARM_POOL_LABEL,
} from "../../lib/keys.ts";
import type { DesiredMeta } from "../../lib/objects.ts";
import type { Pod } from "../../lib/pods.ts";

type StringMap = Record<string, string>;

/** Labels that follow the Sandbox's owner: a Pod may carry one of a former owner. */
const OWNER_LABELS = [CLAIM_UID_LABEL, CREATED_BY_LABEL, TEMPLATE_REF_HASH_LABEL, WARM_POOL_LABEL];

/**
 * Returns the metadata to answer for a Pod so that what its former controller managed, and nobody wants, goes away.
 *
 * Metacontroller removes only what it has applied itself. So such a key is answered once as it is, which makes it
 * Metacontroller's, and is left out from then on. Everything else on the Pod belongs to others and stays.
 */
export function withInheritance(wanted: DesiredMeta, pod: Pod): DesiredMeta {
  const applied = (lastApplied(pod)?.["metadata"] ?? {}) as DesiredMeta;
  const { labels = {}, annotations = {} } = pod.metadata;
  const labelKeys = [...listed(annotations, PROPAGATED_LABELS_ANNOTATION), ...OWNER_LABELS];
  const annotationKeys = [
    ...listed(annotations, PROPAGATED_ANNOTATIONS_ANNOTATION),
    PROPAGATED_LABELS_ANNOTATION,
    PROPAGATED_ANNOTATIONS_ANNOTATION,
  ];
  return {
    ...wanted,
    ...inherited("labels", wanted.labels, applied.labels, labels, labelKeys),
    ...inherited("annotations", wanted.annotations, applied.annotations, annotations, annotationKeys),
  };
}

function inherited(
  field: "labels" | "annotations",
  wanted: StringMap = {},
  applied: StringMap = {},
  observed: StringMap,
  keys: string[],
): Partial<DesiredMeta> {
  const stale = keys.filter((key) => key in observed && !(key in wanted) && !(key in applied));
  if (stale.length === 0) return {};
  return { [field]: { ...wanted, ...Object.fromEntries(stale.map((key) => [key, observed[key] ?? ""])) } };
}

function listed(annotations: StringMap, annotation: string): string[] {
  return (annotations[annotation] ?? "").split(",").filter((key) => key !== "");
}
