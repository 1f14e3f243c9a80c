/** Reads, lists and patches objects. @module */
import type { ObjectMeta } from "../api/objects/objects.ts";
import { answerError, AnswerTooLong, type Api, isOk, type ObjectPath, pathOf } from "./api.ts";

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

/** Some objects of a collection, and the resourceVersion of the list. */
interface Page<T> {
  items: T[];
  version: string;
}

/** Objects per page, if they are small. */
const MOST_OBJECTS = 100;
/**
 * Largest answer: 100 of the largest objects are 150 MB, several collections are read at the same time, and parsing
 * briefly takes ten times as much.
 */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Yields the pages in order. If an answer would be too long, the next request asks for fewer objects, down to one, and
 * later for more again.
 *
 * @param query parameters of the list, such as a label selector
 * @throws {Error} if the API server refuses, or does not answer
 */
export async function* pagesOf<T>(
  api: Api,
  path: string,
  query: Record<string, string> = {},
): AsyncGenerator<Page<T>> {
  let limit = MOST_OBJECTS;
  let next: string | undefined;
  for (;;) {
    const wanted = { ...query, limit: String(limit), ...(next ? { continue: next } : {}) };
    const most = limit > 1 ? { mostBytes: MOST_BYTES } : {};
    const answer = await api.send({ method: "GET", path, query: wanted, ...most }).catch((error) => {
      if (error instanceof AnswerTooLong) return undefined;
      throw error;
    });
    if (!answer) {
      limit = Math.ceil(limit / 8);
      continue;
    }
    if (answer.status !== 200) throw answerError(`list ${path}`, answer);
    const { items, metadata } = answer.body as { items: T[]; metadata: Record<string, string | undefined> };
    yield { items, version: metadata["resourceVersion"] ?? "" };
    next = metadata["continue"];
    if (!next) return;
    limit = Math.min(2 * limit, MOST_OBJECTS);
  }
}

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
