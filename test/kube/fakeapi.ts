/** An API server in memory, as far as the keeper can tell: versions, preconditions, watches, and faults on demand. @module */
import type { Answer, Api, ApiRequest, WatchEvent } from "../../packages/kube/api.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";

type Json = Record<string, unknown>;

/** What tests do to the server, in addition to the keeper's requests. */
export interface FakeApi extends Api {
  /** Every request, in order; watches are not among them. */
  requests: ApiRequest[];
  /** Number of watches that were opened. */
  watches: number;
  /** Creates or replaces an object as somebody else would; gives it uid and resourceVersion. */
  put(path: string, object: Json): KubeObject;
  get(path: string): KubeObject | undefined;
  remove(path: string): void;
  /** Asked before each request: an answer replaces the server's, an error is thrown. Undefined: as ever. */
  intercept: (request: ApiRequest) => Answer | undefined | Promise<Answer | undefined>;
  /** What a dry run is answered; by default a success. */
  onDryRun: (request: ApiRequest) => Answer;
  /** Ends all watches: with an error, or in peace. */
  endWatches(error?: Error): void;
  /** Forgets events: a watch from an older version gets 410. */
  compact(): void;
}

interface Event extends WatchEvent {
  path: string;
  version: number;
}

interface End {
  error: Error | undefined;
}

/** Makes an empty server; `pageSize` limits lists as `limit` would. */
export function createFakeApi({ pageSize = 500 } = {}): FakeApi {
  const objects = new Map<string, KubeObject>();
  const events: Event[] = [];
  const wakers = new Set<(end?: End) => void>();
  let version = 100;
  let oldest = 0;

  function record(type: string, path: string, object: KubeObject): void {
    events.push({ type, path, object: structuredClone(object), version });
    for (const wake of [...wakers]) wake();
  }

  function store(path: string, object: Json): KubeObject {
    const old = objects.get(path);
    const metadata = { uid: `uid-${++version}`, ...old?.metadata, ...object["metadata"] as Json };
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(++version) } } as KubeObject;
    objects.set(path, stored);
    record(old ? "MODIFIED" : "ADDED", path, stored);
    return structuredClone(stored);
  }

  function remove(path: string): void {
    const object = objects.get(path);
    if (!object) return;
    objects.delete(path);
    object.metadata.resourceVersion = String(++version);
    record("DELETED", path, object);
  }

  function list(path: string, from: number, { labelSelector, fieldSelector }: Record<string, string>): Answer {
    const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
    const ip = /^status\.podIP=(.*)$/.exec(fieldSelector ?? "")?.[1];
    const wanted = (labelSelector?.split(",") ?? []).map((label) => label.split("="));
    const items = [...objects]
      .filter(([key, { metadata, ...object }]) =>
        isIn(path, key) && (name === undefined || metadata.name === name) &&
        (ip === undefined || (object["status"] as Json | undefined)?.["podIP"] === ip) &&
        wanted.every(([label = "", value]) => value === undefined || metadata.labels?.[label] === value)
      )
      .map(([, object]) => listed(path, structuredClone(object)));
    const next = from + pageSize < items.length ? { continue: String(from + pageSize) } : {};
    const metadata = { resourceVersion: String(version), ...next };
    return { status: 200, body: { metadata, items: items.slice(from, from + pageSize) } };
  }

  function answer(request: ApiRequest): Answer {
    const { method, path, body = {}, query = {} } = request;
    if (query["dryRun"]) return api.onDryRun(request);
    if (method === "POST") {
      const key = `${path}/${((body as Json)["metadata"] as Json)["name"]}`;
      return objects.has(key) ? refusal(409, "already exists") : { status: 201, body: store(key, body as Json) };
    }
    const object = objects.get(path);
    if (method === "GET" && !object && !/\/namespaces\/[^/]+\/[^/]+\/[^/]+$/.test(path)) {
      return list(path, Number(query["continue"] ?? 0), query);
    }
    if (!object) return refusal(404, `${path} not found`);
    if (method === "GET") return { status: 200, body: structuredClone(object) };
    if (method === "PATCH") return patch(path, object, body as Json);
    const { uid, resourceVersion } = ((body as Json)["preconditions"] ?? {}) as Record<string, string | undefined>;
    const fits = (uid ?? object.metadata.uid) === object.metadata.uid &&
      (resourceVersion ?? object.metadata.resourceVersion) === object.metadata.resourceVersion;
    if (!fits) return refusal(409, "the precondition failed");
    remove(path);
    return { status: 200, body: {} };
  }

  function patch(path: string, object: KubeObject, change: Json): Answer {
    const wanted = (change["metadata"] as Json | undefined)?.["resourceVersion"];
    if (wanted !== undefined && wanted !== object.metadata.resourceVersion) return refusal(409, "it has been modified");
    const merged = mergePatch(object, change) as Json & Pick<KubeObject, "metadata">;
    const { generation } = object.metadata;
    if (generation !== undefined && JSON.stringify(merged["spec"]) !== JSON.stringify(object["spec"])) {
      merged.metadata = { ...merged.metadata, generation: generation + 1 };
    }
    return { status: 200, body: store(path, merged) };
  }

  async function* watchFrom(path: string, from: number): AsyncGenerator<WatchEvent> {
    let index = 0;
    let end: End | undefined;
    while (!end) {
      for (; index < events.length; index++) {
        const event = events[index];
        if (event && event.version > from && isIn(path, event.path)) yield { type: event.type, object: event.object };
      }
      end = await new Promise<End | undefined>((resolve) => {
        const wake = (ended?: End) => {
          wakers.delete(wake);
          resolve(ended);
        };
        wakers.add(wake);
      });
    }
    if (end.error) throw end.error;
  }

  const api: FakeApi = {
    requests: [],
    // Not Date.now(): a test may set that wrong, as the clock of one process.
    now: () => new Date().getTime(),
    watches: 0,
    intercept: () => undefined,
    onDryRun: () => ({ status: 201, body: {} }),
    put: store,
    get: (path) => structuredClone(objects.get(path)),
    remove,
    endWatches: (error) => [...wakers].forEach((wake) => wake({ error })),
    compact: () => oldest = ++version,
    async send(request) {
      api.requests.push(request);
      return await api.intercept(request) ?? answer(request);
    },
    watch(path, query) {
      api.watches++;
      const from = Number(query["resourceVersion"]);
      if (from < oldest) return Promise.resolve({ ...refusal(410, "too old"), events: watchNothing() });
      return Promise.resolve({ status: 200, body: null, events: watchFrom(path, from) });
    },
  };
  return api;
}

/** Makes the answer to a request that is refused. */
export function refusal(status: number, message: string): Answer {
  return { status, body: { kind: "Status", code: status, message } };
}

async function* watchNothing(): AsyncGenerator<WatchEvent> {}

/** Tells whether an object belongs to a collection, of one namespace or of all. */
function isIn(collection: string, path: string): boolean {
  const allNamespaces = path.replace(/\/namespaces\/[^/]+(?=\/[^/]+\/[^/]+$)/, "");
  return [path, allNamespaces].some((candidate) => candidate.startsWith(`${collection}/`));
}

function mergePatch(target: unknown, change: unknown): unknown {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change;
  const result: Json = { ...(typeof target === "object" ? target as Json : {}) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Lists have objects of built-in kinds without apiVersion and kind, and custom resources with them, as API servers do. */
function listed(collection: string, object: KubeObject): Partial<KubeObject> {
  if (/^\/apis\/([^/]+\.)?(x-k8s|metacontroller\.k8s)\.io\//.test(collection)) return object;
  const { apiVersion: _, kind: __, ...rest } = object;
  return rest;
}
