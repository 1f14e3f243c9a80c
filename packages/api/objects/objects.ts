/** What every Kubernetes object has, as hooks see it (JSON: times are strings) and as they answer it. @module */
import * as z from "zod";

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
export type OwnerReference = z.infer<typeof ownerReferenceSchema>;

/** `metadata` of an observed object; unknown keys are kept. Absent maps and lists mean empty. */
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
/** Metadata of an object: the fields that are read here, and whatever else it has. */
export type ObjectMeta = z.infer<typeof objectMetaSchema>;

/** Any observed object: type, name, and whatever else it has. */
export const kubeObjectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
});
/** An object of any kind, whatever it has beside its metadata. */
export type KubeObject = z.infer<typeof kubeObjectSchema>;

/** `metadata` of a desired object: only what a hook may decide. */
export interface DesiredMeta {
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

/** A child as a hook wants it: only the fields it cares about, never a status. */
export interface DesiredObject<Kind extends string = string, Spec = unknown> {
  apiVersion: string;
  kind: Kind;
  metadata: DesiredMeta;
  spec?: Spec;
}

/**
 * Returns a key for an object that other objects name by its UID, such as their owner. An owner reference has no namespace: an
 * object in another namespace can name the same UID, and must get another key.
 */
export function uidKey(namespace: string | undefined, uid: string | undefined): string {
  return `${namespace}/${uid}`;
}

/** Returns the owner that controls the object, `undefined` if none does. */
export function controllerOf(meta: ObjectMeta): OwnerReference | undefined {
  return meta.ownerReferences?.find((owner) => owner.controller === true);
}

/** Returns the reference by which `owner` controls an object. */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Returns the API group of an apiVersion: `""` for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
