/** Changes one object, provided it still is what was judged. Decides nothing. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "./api.ts";

/** The object: its metadata as it was judged. */
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

/** Returns the merge patch that fits only the version of the object that was judged. */
export function patchOf({ resourceVersion }: ObjectMeta, change: MetadataChange): object {
  return { metadata: { resourceVersion, ...change } };
}

/**
 * Sends a merge patch that names the version it fits.
 *
 * @returns false if the object has changed or gone meanwhile: look again
 * @throws {Error} if it is refused for another reason
 */
export async function sendPatch(api: Api, { kind, resource, metadata }: Target, body: object): Promise<boolean> {
  const { namespace, name } = metadata;
  const answer = await api.send({ method: "PATCH", path: pathOf({ resource, namespace, name }), body });
  if (answer.status === 404 || answer.status === 409) return false;
  if (!isOk(answer)) throw answerError(`patch ${kind} ${namespace}/${name}`, answer);
  return true;
}
