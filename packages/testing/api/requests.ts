/** Implements GET of lists, and POST, PUT, PATCH and DELETE, of the API in memory. @module */
import { copyJson } from "../../api/objects/json.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Answer } from "../../kube/api.ts";
import type { MemoryStore } from "../store/memory.ts";
import type { ServedResource } from "../store/resources.ts";
import { type ObjectMatcher, objectMatcher } from "../store/selectors.ts";
import { type DeleteOptions, isConflict, keyOf, StoreError } from "../store/store.ts";
import { successStatus } from "./protocol.ts";

/** A parsed request to a collection or an object. */
export interface Write {
  resource: ServedResource;
  namespace: string | undefined;
  /** Empty for a collection. */
  name: string;
  part: "all" | "status";
  query: Record<string, string>;
  body: unknown;
}

/** How often a PATCH without a version is tried if another write comes in between. */
const PATCH_TRIES = 5;

/** Returns the matching objects, sorted by namespace and name like the API server's lists. */
export function matching(
  store: MemoryStore,
  { apiVersion, kind }: ServedResource,
  namespace: string | undefined,
  matches: ObjectMatcher,
): KubeObject[] {
  const found = store.objects(apiVersion, kind).filter((object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && matches(object)
  );
  return found.sort((one, other) => compare(keyOf(one.metadata), keyOf(other.metadata)));
}

/**
 * Answers with a list, in pages if the query has `limit` and `continue`. As on an API server, only custom resources
 * have their kind in a list. A page shows the objects that exist when it is requested.
 *
 * @throws {StoreError} 400 for an invalid selector or continue token
 */
export function answerList(
  store: MemoryStore,
  resource: ServedResource,
  namespace: string | undefined,
  query: Record<string, string>,
): Answer {
  const all = matching(store, resource, namespace, objectMatcher(resource.kind, query));
  const after = query["continue"] ? keyIn(query["continue"]) : "";
  const left = all.filter(({ metadata }) => compare(keyOf(metadata), after) > 0);
  const page = left.slice(0, Number(query["limit"] || 0) || undefined);
  const last = page.at(-1);
  const metadata = {
    resourceVersion: store.version(),
    ...(last && page.length < left.length && {
      continue: tokenOf(keyOf(last.metadata)),
      remainingItemCount: left.length - page.length,
    }),
  };
  const { apiVersion, kind } = resource;
  return { status: 200, body: { apiVersion, kind: `${kind}List`, metadata, items: page.map(itemOf(resource)) } };
}

/** Creates an object. @throws {StoreError} if the store refuses it */
export async function create(store: MemoryStore, { resource, namespace, query, body }: Write): Promise<Answer> {
  const { apiVersion, kind } = resource;
  const { metadata = {}, ...rest } = (body ?? {}) as { metadata?: { namespace?: string } };
  const own = metadata.namespace ?? namespace;
  if (own !== namespace) {
    throw new StoreError(
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (namespace !== undefined) await store.get(await store.kind("v1", "Namespace"), undefined, namespace);
  checkKind({ apiVersion, kind }, rest);
  const object = {
    ...rest,
    apiVersion,
    kind,
    metadata: { ...metadata, ...(namespace && { namespace }) },
  } as KubeObject;
  return { status: 201, body: copyJson(await writing(store, query).create(resource, object)) };
}

/**
 * Applies an object: creates it, or merges it into the existing one. Lists are replaced as a whole. Field ownership is
 * not supported: fields that an earlier apply has set stay, even if this one omits them.
 *
 * @throws {StoreError} if the store refuses it
 */
export async function apply(store: MemoryStore, write: Write): Promise<Answer> {
  const { resource, namespace, name, body } = write;
  const exists = await store.get(resource, namespace, name).catch(() => undefined);
  const { metadata, ...rest } = body as { metadata?: object };
  return exists
    ? await patch(store, write)
    : await create(store, { ...write, body: { ...rest, metadata: { ...metadata, name } } });
}

/**
 * Replaces an object, or its status; without a version, it replaces any version.
 *
 * @throws {StoreError} if the store refuses it
 */
export async function replace(
  store: MemoryStore,
  { resource, namespace, name, part, query, body }: Write,
): Promise<Answer> {
  const { metadata, ...rest } = body as KubeObject;
  checkName(metadata.name, name);
  const live = await store.get(resource, namespace, name);
  const resourceVersion = metadata.resourceVersion ?? live.metadata.resourceVersion;
  const object = { ...rest, metadata: { ...metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
  const target = writing(store, query);
  const replaced = await (part === "status" ? target.updateStatus : target.update)(resource, object as KubeObject);
  return { status: 200, body: copyJson(replaced) };
}

/** Merges a patch into an object, or into its status. @throws {StoreError} if the store refuses it */
export async function patch(store: MemoryStore, write: Write): Promise<Answer> {
  const { resource, namespace, name, part, query, body } = write;
  const { metadata } = (body ?? {}) as { metadata?: { resourceVersion?: string; name?: string } };
  for (let tries = 1;; tries++) {
    const live = await store.get(resource, namespace, name);
    const merged = mergePatch(copyJson(live), body) as KubeObject;
    checkName(merged.metadata.name, name);
    try {
      const target = writing(store, query);
      const patched = await (part === "status" ? target.updateStatus : target.update)(resource, merged);
      return { status: 200, body: copyJson(patched) };
    } catch (error) {
      if (metadata?.resourceVersion || tries === PATCH_TRIES || !isConflict(error)) throw error;
    }
  }
}

/**
 * Deletes an object. Answers with the object while finalizers hold it, else with a success.
 *
 * @throws {StoreError} if the store refuses it
 */
export async function remove(store: MemoryStore, { resource, namespace, name, query, body }: Write): Promise<Answer> {
  const { preconditions, propagationPolicy = query["propagationPolicy"], dryRun } = (body ?? {}) as {
    preconditions?: Pick<DeleteOptions, "uid" | "resourceVersion">;
    propagationPolicy?: DeleteOptions["propagation"];
    dryRun?: string[];
  };
  const options = { ...preconditions, ...(propagationPolicy && { propagation: propagationPolicy as "Background" }) };
  const { metadata } = await store.get(resource, namespace, name);
  await writing(store, dryRun ? { dryRun: "All" } : query).delete(resource, namespace, name, options);
  const left = await store.get(resource, namespace, name).catch(() => undefined);
  if (left?.metadata.uid === metadata.uid) return { status: 200, body: copyJson(left) };
  return { status: 200, body: successStatus({ resource, name }, metadata.uid) };
}

/** Deletes the matching objects of a collection. @throws {StoreError} if the store refuses it */
export async function removeAll(store: MemoryStore, write: Write): Promise<Answer> {
  const { resource, namespace, query } = write;
  const found = matching(store, resource, namespace, objectMatcher(resource.kind, query));
  for (const { metadata } of found) {
    await remove(store, { ...write, namespace: metadata.namespace, name: metadata.name });
  }
  const { apiVersion, kind } = resource;
  const metadata = { resourceVersion: store.version() };
  return { status: 200, body: { apiVersion, kind: `${kind}List`, metadata, items: copyJson(found) } };
}

function itemOf({ custom }: ServedResource): (object: KubeObject) => object {
  return (object) => {
    const { apiVersion, kind, ...item } = copyJson(object);
    return custom ? { apiVersion, kind, ...item } : item;
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function tokenOf(key: string): string {
  return btoa(JSON.stringify({ v: "meta.k8s.io/v1", start: key }));
}

function keyIn(token: string): string {
  try {
    return String(JSON.parse(atob(token)).start);
  } catch {
    throw new StoreError(400, "BadRequest", "continue key is not valid: it is not a token of this server");
  }
}

function writing(store: MemoryStore, query: Record<string, string>): MemoryStore["dryRun"] {
  return query["dryRun"] ? store.dryRun : store;
}

function checkName(own: string, name: string): void {
  if (own === name) return;
  const why = `the name of the object (${own}) does not match the name on the URL (${name})`;
  throw new StoreError(400, "BadRequest", why);
}

function checkKind(served: { apiVersion: string; kind: string }, body: { apiVersion?: string; kind?: string }): void {
  for (const key of ["apiVersion", "kind"] as const) {
    if (body[key] === undefined || body[key] === served[key]) continue;
    const why = `${key} "${body[key]}" does not match the expected ${key} "${served[key]}"`;
    throw new StoreError(400, "BadRequest", `the object provided is unrecognized: ${why}`);
  }
}

/** Returns `target` with the patch applied: null removes, an object is merged, anything else replaces. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const merged: Record<string, unknown> = isMap(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
