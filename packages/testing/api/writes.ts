/** Implements POST, PUT, PATCH and DELETE of the API in memory, with their preconditions. @module */
import { copyJson } from "../../api/objects/exactjson.ts";
import type { ServedResource } from "../store/resources.ts";
import { type DeleteOptions, isConflict, StoreError } from "../store/store.ts";
import type { MemoryStore } from "../store/memory.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Answer } from "../../kube/api.ts";
import { matching } from "./lists.ts";
import { mergePatch } from "./mergepatch.ts";
import { objectMatcher } from "../store/selectors.ts";
import { success } from "./status.ts";

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
  const wish = { ...preconditions, ...(propagationPolicy && { propagation: propagationPolicy as "Background" }) };
  const { metadata } = await store.get(resource, namespace, name);
  await writing(store, dryRun ? { dryRun: "All" } : query).delete(resource, namespace, name, wish);
  const left = await store.get(resource, namespace, name).catch(() => undefined);
  if (left?.metadata.uid === metadata.uid) return { status: 200, body: copyJson(left) };
  return { status: 200, body: success({ resource, name }, metadata.uid) };
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
