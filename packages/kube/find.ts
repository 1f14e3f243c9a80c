/** Reads single objects, and checks whether any object has a label. @module */
import { answerError, type Api, isOk, type ObjectPath, pathOf } from "./api.ts";

/** @property kind name of the kind for messages; without it, they name the resource */
type Named = ObjectPath & { name: string; kind?: string };

/** Reads an object; undefined: it does not exist. @throws {Error} if the API server refuses, or the object is invalid */
export async function findObject<T>(
  api: Api,
  object: Named,
  schema: { parse(object: unknown): T },
): Promise<T | undefined> {
  const found = await findRaw(api, object);
  return found === undefined ? undefined : schema.parse(found);
}

/** Reads an object, not parsed; undefined: it does not exist. @throws {Error} if the API server refuses */
export async function findRaw<T>(api: Api, object: Named): Promise<T | undefined> {
  const { resource, namespace, name, kind = resource } = object;
  const answer = await api.send({ method: "GET", path: pathOf(object) });
  if (answer.status === 404) return undefined;
  const scoped = namespace === undefined ? name : `${namespace}/${name}`;
  if (!isOk(answer)) throw answerError(`get ${kind} ${scoped}`, answer);
  return answer.body as T;
}

/** Returns whether any object of a namespace matches a label selector. @throws {Error} if the API server refuses */
export async function isAnyLabelled(api: Api, collection: ObjectPath, labelSelector: string): Promise<boolean> {
  const { resource, namespace } = collection;
  const answer = await api.send({ method: "GET", path: pathOf(collection), query: { labelSelector, limit: "1" } });
  if (!isOk(answer)) throw answerError(`list ${resource} of namespace ${namespace} with ${labelSelector}`, answer);
  return ((answer.body as { items?: unknown[] }).items ?? []).length > 0;
}
