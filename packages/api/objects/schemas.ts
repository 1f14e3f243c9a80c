/**
 * The schemas of conditions and of any Kubernetes object as hooks observe it. They are apart from the functions that
 * read such objects, because commands that only read them start faster without zod. @module
 */
import * as z from "zod";

export const conditionStatusSchema = z.enum(["True", "False", "Unknown"]);

/** One entry of `status.conditions`. Times are RFC 3339 strings in UTC with whole seconds. */
export const conditionSchema = z.looseObject({
  type: z.string(),
  status: conditionStatusSchema,
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.number().optional(),
});

const stringMapSchema = z.record(z.string(), z.string());

/** One entry of `metadata.ownerReferences`. */
export const ownerReferenceSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

/**
 * Schema of `metadata` of an observed object. Unknown keys are kept. An absent map or list is the same as an empty one.
 */
export const objectMetaSchema = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: stringMapSchema.optional(),
  annotations: stringMapSchema.optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
});

/** Schema of any observed object: type, metadata and all other fields. */
export const kubeObjectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
});
