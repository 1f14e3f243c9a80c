/**
 * Types of any Kubernetes object: as hooks observe it (JSON, so times are strings) and as they return it.
 * @module
 */
import type * as z from "zod";
import { ASSIGNED_AT_ANNOTATION } from "./keys.ts";
import type { kubeObjectSchema, objectMetaSchema, ownerReferenceSchema } from "./schemas.ts";

/** One entry of `metadata.ownerReferences`. */
export type OwnerReference = z.infer<typeof ownerReferenceSchema>;
/** Metadata of an object: the known fields and all others. An absent map or list is the same as an empty one. */
export type ObjectMeta = z.infer<typeof objectMetaSchema>;
/** An object of any kind, with all its fields. */
export type KubeObject = z.infer<typeof kubeObjectSchema>;

/** `metadata` of a desired object: the fields that a hook may set. */
export interface DesiredMeta {
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

/** A desired child: only the fields that the hook sets, and no status. */
export interface DesiredObject<Kind extends string = string, Spec = unknown> {
  apiVersion: string;
  kind: Kind;
  metadata: DesiredMeta;
  spec?: Spec;
}

/**
 * Returns a key for an object that other objects name by its UID, such as their owner. The key contains the namespace:
 * an owner reference has none, so that an object in another namespace can name the same UID, and must get another key.
 */
export function uidKey(namespace: string | undefined, uid: string | undefined): string {
  return `${namespace}/${uid}`;
}

/** Returns the owner that controls the object; undefined: none does. */
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

/**
 * Returns when a manager of an object's spec last wrote to the object. A Sandbox that the binder has bound to a claim
 * has no `managedFields`: the result is then the time of the binding. Undefined: the time is not known.
 */
export function specChanged(metadata: ObjectMeta): string | undefined {
  const entries = (metadata["managedFields"] ?? []) as { subresource?: string; time?: string; fieldsV1?: object }[];
  const ofSpec = entries.filter(({ subresource, fieldsV1 = {} }) => !subresource && "f:spec" in fieldsV1);
  return ofSpec.map(({ time }) => time ?? "").sort().at(-1) || metadata.annotations?.[ASSIGNED_AT_ANNOTATION];
}
