/**
 * Removes the labels and annotations that another controller left on a Pod, after the Sandbox has taken the Pod over.
 * @module
 */
import type { Json } from "../../packages/api/objects/json.ts";
import { withForeignFields } from "../../packages/webhook/unchanged.ts";
import {
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  PROPAGATED_ANNOTATIONS_ANNOTATION,
  PROPAGATED_LABELS_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import type { DesiredMeta } from "../../packages/api/objects/objects.ts";
import type { Pod } from "../../packages/api/objects/pods.ts";

/** Labels that depend on the owner of the Sandbox. A Pod may still have those of a former owner. */
const OWNER_LABELS = [CLAIM_UID_LABEL, CREATED_BY_LABEL, TEMPLATE_REF_HASH_LABEL, WARM_POOL_LABEL];
const LISTS = [PROPAGATED_LABELS_ANNOTATION, PROPAGATED_ANNOTATIONS_ANNOTATION];

/**
 * Returns the metadata to answer for a Pod, so that Metacontroller removes the keys that the former controller managed
 * and the Sandbox does not want: the keys that this controller listed on the Pod, and the keys that depend on the
 * owner. All other keys stay.
 *
 * @param last the Pod as it was last applied; undefined: it was never applied
 */
export function withInheritance(wanted: DesiredMeta, pod: Pod, last: Json | undefined): DesiredMeta {
  const applied = (last?.["metadata"] ?? {}) as DesiredMeta;
  const { labels, annotations = {} } = pod.metadata;
  const labelKeys = [...listed(annotations, PROPAGATED_LABELS_ANNOTATION), ...OWNER_LABELS];
  const annotationKeys = [...listed(annotations, PROPAGATED_ANNOTATIONS_ANNOTATION), ...LISTS];
  return {
    ...wanted,
    ...field("labels", merged(wanted.labels, labels, applied.labels, labelKeys)),
    ...field("annotations", merged(wanted.annotations, annotations, applied.annotations, annotationKeys)),
  };
}

type StringMap = Record<string, string>;

function merged(wanted: StringMap = {}, observed: StringMap = {}, applied: StringMap = {}, keys: string[]): StringMap {
  const ours = new Set(keys);
  return withForeignFields(wanted, observed, applied, (key) => ours.has(key));
}

function field(name: "labels" | "annotations", map: StringMap): DesiredPart {
  return Object.keys(map).length > 0 ? { [name]: map } : {};
}

type DesiredPart = Pick<DesiredMeta, "labels" | "annotations">;

function listed(annotations: StringMap, annotation: string): string[] {
  return (annotations[annotation] ?? "").split(",").filter((key) => key !== "");
}
