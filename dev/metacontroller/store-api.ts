/** The fake Metacontroller's store on a real API server. It keeps no objects, because informers do. @module */
import { Buffer } from "node:buffer";
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeConfig } from "@kubernetes/client-node";
import { parseJson } from "../../packages/api/objects/json.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { systemClock } from "../../packages/process/clock.ts";
import { type Resource, type Store, StoreError, type WatchHandler } from "../../packages/testing/store/store.ts";

const PAGE = 500;
const WATCH_SECONDS = 300;
const RETRY_MS = 500;
/** After discovery, the next one is useful only after this time. */
const DISCOVERY_MS = 1000;

interface ApiStoreOptions {
  /** Called when a watch breaks. By default, nothing is logged. */
  log?: (message: string, fields: Record<string, unknown>) => void;
  /** Milliseconds until a broken watch is started again. The default is 500. */
  retryMs?: number;
}

interface ServedList {
  resources: { name: string; kind: string; namespaced: boolean }[];
}

interface Listed {
  metadata: { resourceVersion: string; continue?: string };
  items: KubeObject[];
}

interface Watching extends Required<ApiStoreOptions> {
  requester: Requester;
  resource: Resource;
  handler: WatchHandler;
  signal: AbortSignal;
}

/** The progress of a watch; empty before the first list. */
interface Progress {
  resourceVersion?: string;
}

interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: KubeObject;
}

/** How long to use credentials before they are read again: tokens of plugins expire. */
const CREDENTIALS_MS = 60_000;

const TIMEOUT_MS = 30_000;

/** A watch receives a bookmark about every minute, and the server ends it before this time. */
const IDLE_MS = 400_000;

interface Requester {
  /**
   * Sends a request and returns the decoded answer.
   *
   * @throws {StoreError} for any status above 299, with the API server's reason
   */
  json(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** Reads an answer line by line until it ends or `signal` aborts. Rejects like {@link json}. */
  lines(path: string, signal: AbortSignal, onLine: (line: string) => void): Promise<void>;
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

/** Creates a requester for the current context of a kubeconfig. */
function createRequester(kubeConfig: KubeConfig): Requester {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (!server) throw new RangeError("Cannot reach a cluster: the kubeconfig has no current context");
  const credentials = rememberCredentials(kubeConfig);
  return {
    async json(method, path, body) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await send(new URL(server + path), { ...await credentials(), method, timeout: TIMEOUT_MS }, text);
      return parseJson(await textOf(answer)) as never;
    },
    async lines(path, signal, onLine) {
      const answer = await send(new URL(server + path), { ...await credentials(), signal, timeout: IDLE_MS });
      let rest = "";
      for await (const part of answer.setEncoding("utf8")) {
        const lines = (rest + part).split("\n");
        rest = lines.pop() ?? "";
        lines.forEach(onLine);
      }
    },
  };
}

/** Sends a request and waits for the head of the answer. @throws {StoreError} if the API server refuses the request */
async function send(url: URL, options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const request = url.protocol === "http:" ? requestHttp : requestHttps;
  const content = body !== undefined &&
    { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const headers = { ...options.headers as object, accept: "application/json", ...content };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent: ClientRequest = request(url, { ...options, headers }, resolve);
    sent.once("error", reject);
    sent.once("timeout", () => sent.destroy(new Error(`Cannot reach API server: no answer for ${url.pathname}`)));
    sent.end(body);
  });
  const status = answer.statusCode ?? 500;
  if (status > 299) throw errorOf(status, await textOf(answer));
  return answer;
}

function rememberCredentials(kubeConfig: KubeConfig): () => Promise<RequestOptions> {
  let agent: RequestOptions["agent"];
  let until = 0;
  let options: RequestOptions = {};
  return async () => {
    if (Date.now() < until) return options;
    const fresh: RequestOptions = {};
    await kubeConfig.applyToHTTPSOptions(fresh);
    agent ??= keptAlive(fresh.agent);
    options = { ...fresh, agent };
    until = Date.now() + CREDENTIALS_MS;
    return options;
  };
}

/** Returns an agent that reuses connections. An agent for a proxy stays unchanged. */
function keptAlive(agent: RequestOptions["agent"]): RequestOptions["agent"] {
  if (typeof agent !== "object") return agent;
  const options = { ...(agent as HttpsAgent).options, keepAlive: true };
  if (agent.constructor === HttpsAgent) return new HttpsAgent(options);
  return agent.constructor === HttpAgent ? new HttpAgent(options) : agent;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of answer) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function errorOf(status: number, text: string): StoreError {
  try {
    const { reason, message } = JSON.parse(text) as { reason?: string; message?: string };
    return new StoreError(status, reason ?? "Unknown", message ?? text);
  } catch {
    return new StoreError(status, "Unknown", text.slice(0, 200) || `status ${status}`);
  }
}
