/** Finds out when the spec of an object was last written. @module */
import { ASSIGNED_AT_ANNOTATION } from "./keys.ts";
import type { ObjectMeta } from "./objects.ts";

/**
 * Returns when a manager of an object's spec last wrote to the object. A Sandbox that the binder has bound to a claim
 * has no `managedFields`: the result is then the time of the binding. Undefined: the time is not known.
 */
export function specChanged(metadata: ObjectMeta): string | undefined {
  const entries = (metadata["managedFields"] ?? []) as { subresource?: string; time?: string; fieldsV1?: object }[];
  const ofSpec = entries.filter(({ subresource, fieldsV1 = {} }) => !subresource && "f:spec" in fieldsV1);
  return ofSpec.map(({ time }) => time ?? "").sort().at(-1) || metadata.annotations?.[ASSIGNED_AT_ANNOTATION];
}
