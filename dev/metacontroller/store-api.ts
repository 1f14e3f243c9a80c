/** The fake Metacontroller's store on a real API server. It keeps no objects, because informers do. @module */
import { parseJson } from "../../packages/api/objects/exactjson.ts";
import type { KubeConfig } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../packages/process/clock.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { createRequester, type Requester } from "./api-request.ts";
import { type Resource, type Store, StoreError, type WatchHandler } from "../../packages/testing/store/store.ts";

const PAGE = 500;
const WATCH_SECONDS = 300;
const RETRY_MS = 500;
/** After discovery, the next one is useful only after this time. */
const DISCOVERY_MS = 1000;

export interface ApiStoreOptions {
  /** Called when a watch breaks. By default, nothing is logged. */
  log?: (message: string, fields: Record<string, unknown>) => void;
  /** Milliseconds until a broken watch is started again. The default is 500. */
  retryMs?: number;
}

/** Creates a store for the current context of a kubeconfig. */
export function createApiStore(kubeConfig: KubeConfig, options: ApiStoreOptions = {}): Store {
  const { log = () => {}, retryMs = RETRY_MS } = options;
  const requester = createRequester(kubeConfig);
  const discover = createDiscovery(requester);
  const one = async (method: string, path: string, body?: unknown) =>
    await requester.json(method, path, body) as unknown as KubeObject;
  return {
    clock: systemClock,
    resource: (apiVersion, plural) => discover(apiVersion, (resource) => resource.plural === plural, plural),
    kind: (apiVersion, kind) => discover(apiVersion, (resource) => resource.kind === kind, kind),
    get: (resource, namespace, name) => one("GET", pathOf(resource, namespace, name)),
    list: async (resource, namespace) => (await listAll(requester, resource, pathOf(resource, namespace))).objects,
    watch(resource, handler) {
      const ending = new AbortController();
      void keepWatching({ requester, resource, handler, signal: ending.signal, log, retryMs });
      return () => ending.abort();
    },
    create: (resource, object) => one("POST", pathOf(resource, object.metadata.namespace), object),
    update: (resource, object) => one("PUT", pathOf(resource, object.metadata.namespace, object.metadata.name), object),
    updateStatus: (resource, object) =>
      one("PUT", `${pathOf(resource, object.metadata.namespace, object.metadata.name)}/status`, object),
    async delete(resource, namespace, name, { propagation, ...preconditions } = {}) {
      const options = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions,
        ...(propagation && { propagationPolicy: propagation }),
      };
      await requester.json("DELETE", pathOf(resource, namespace, name), options);
    },
  };
}

function pathOf({ apiVersion, plural, namespaced }: Resource, namespace?: string, name?: string): string {
  const base = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
  const inside = namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${base}${inside}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

interface ServedList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

/** Caches which resources are served. If one is missing, reads them again, at most once per second for each version. */
function createDiscovery(requester: Requester) {
  const known = new Map<string, { at: number; resources: Promise<Resource[]> }>();

  async function load(apiVersion: string): Promise<Resource[]> {
    const path = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
    const { resources } = await requester.json("GET", path) as unknown as ServedList;
    return resources.filter(({ name }) => !name.includes("/")).map(({ name, kind, namespaced }) => ({
      apiVersion,
      kind,
      plural: name,
      namespaced,
      hasStatus: resources.some((other) => other.name === `${name}/status`),
    }));
  }

  return async (apiVersion: string, matches: (resource: Resource) => boolean, what: string): Promise<Resource> => {
    for (;;) {
      const before = known.get(apiVersion);
      const entry = before ?? { at: Date.now(), resources: load(apiVersion) };
      known.set(apiVersion, entry);
      const resources = await entry.resources.catch((error) => {
        if (!before) known.delete(apiVersion);
        throw error;
      });
      const found = resources.find(matches);
      if (found) return found;
      if (!before || entry.at + DISCOVERY_MS > Date.now()) {
        throw new StoreError(404, "NotFound", `Cannot find ${what} in ${apiVersion}: it is not served`);
      }
      if (known.get(apiVersion) === entry) known.delete(apiVersion);
    }
  };
}

interface Listed {
  metadata: { resourceVersion: string; continue?: string };
  items: KubeObject[];
}

async function listAll(requester: Requester, { apiVersion, kind }: Resource, path: string) {
  const objects: KubeObject[] = [];
  let from = "";
  for (;;) {
    const next = from && `&continue=${encodeURIComponent(from)}`;
    const { metadata, items } = await requester.json("GET", `${path}?limit=${PAGE}${next}`) as unknown as Listed;
    for (const item of items) objects.push({ ...item, apiVersion, kind });
    from = metadata.continue ?? "";
    if (!from) return { objects, resourceVersion: metadata.resourceVersion };
  }
}

interface Watching extends Required<ApiStoreOptions> {
  requester: Requester;
  resource: Resource;
  handler: WatchHandler;
  signal: AbortSignal;
}

/**
 * Lists, then follows changes. If changes were missed, lists again. If a connection ends or breaks, continues from
 * where it was.
 */
async function keepWatching(watching: Watching): Promise<void> {
  const { requester, resource, handler, signal, log, retryMs } = watching;
  const progress: Progress = {};
  while (!signal.aborted) {
    try {
      if (progress.resourceVersion === undefined) {
        const { objects, resourceVersion } = await listAll(requester, resource, pathOf(resource));
        if (signal.aborted) return;
        progress.resourceVersion = resourceVersion;
        handler.replace(objects);
      }
      await follow(watching, progress);
    } catch (error) {
      if (signal.aborted) return;
      log("watch broke", { resource: resource.plural, error: String(error) });
      if (error instanceof StoreError) delete progress.resourceVersion;
      await sleep(retryMs);
    }
  }
}

/** The progress of a watch; empty before the first list. */
interface Progress {
  resourceVersion?: string;
}

interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: KubeObject;
}

/** Follows changes until the connection ends. @throws {StoreError} 410 if changes were missed */
async function follow({ requester, resource, handler, signal }: Watching, progress: Progress): Promise<void> {
  let failure: unknown;
  const query =
    `watch=true&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${progress.resourceVersion}`;
  await requester.lines(`${pathOf(resource)}?${query}`, signal, (line) => {
    const { type, object } = parseJson(line) as WatchEvent;
    if (signal.aborted || failure) return;
    if (type === "ERROR") {
      const { code, reason, message } = object as unknown as { code: number; reason: string; message: string };
      failure = new StoreError(code, reason, message);
      return;
    }
    if (object.metadata.resourceVersion) progress.resourceVersion = object.metadata.resourceVersion;
    if (type === "DELETED") handler.deleted(object);
    else if (type !== "BOOKMARK") handler.changed(object);
  });
  if (failure) throw failure;
}
