/** Patches an object on condition that it has not changed since it was examined. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "./api.ts";

/** The object to patch, with its metadata as examined. */
export interface Target {
  kind: string;
  resource: ObjectPath["resource"];
  metadata: ObjectMeta;
}

/** Labels and annotations to set, or to remove with null. */
export interface MetadataChange {
  labels?: Record<string, string | null | undefined>;
  annotations?: Record<string, string | null>;
}

/** Returns a merge patch that applies only to the version of the object that was examined. */
export function patchOf({ resourceVersion }: ObjectMeta, change: MetadataChange): object {
  return { metadata: { resourceVersion, ...change } };
}

/**
 * Sends a merge patch that names the version to which it applies.
 *
 * @returns false if the object has changed or is gone; then examine it again
 * @throws {Error} if it is refused for another reason
 */
export async function sendPatch(api: Api, { kind, resource, metadata }: Target, body: object): Promise<boolean> {
  const { namespace, name } = metadata;
  const answer = await api.send({ method: "PATCH", path: pathOf({ resource, namespace, name }), body });
  if (answer.status === 404 || answer.status === 409) return false;
  if (!isOk(answer)) throw answerError(`patch ${kind} ${namespace}/${name}`, answer);
  return true;
}
