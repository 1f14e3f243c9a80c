/**
 * Watches, reads and patches Sandboxes, and reads their Pods, at the API server; puts what it learns into the index.
 * @module
 */
import { NAME_HASH_LABEL } from "../../api/objects/keys.ts";
import { nameHash } from "../../api/objects/names.ts";
import { type Answer, answerError, type Api, isOk, pathOf } from "../../kube/api.ts";
import { type EventHandler, listAndWatch } from "../../kube/watch.ts";
import { errorFields, type Log } from "../../process/log.ts";
import { createRateLimit } from "../limits.ts";
import { readPod, readSandbox } from "./records.ts";
import type { SandboxIndex } from "./sandboxindex.ts";

interface WatchOptions {
  log: Log;
  signal: AbortSignal;
  /** undefined: all namespaces. */
  namespace: string | undefined;
  allowLoopbackPodIp: boolean;
  /** Called once, when both lists are complete. */
  onListed(): void;
  /** Called whenever the API server sends something on one of the watches. */
  onHeard?(watch: "sandboxes" | "pods"): void;
}

/** Watches Sandboxes and Pods until `signal` fires. */
export async function watchSandboxes(api: Api, index: SandboxIndex, options: WatchOptions): Promise<void> {
  const { log, signal, namespace, allowLoopbackPodIp, onListed, onHeard } = options;
  const pending = new Set(["sandboxes", "pods"]);
  const counted = <T>(resource: string, handler: EventHandler<T>): EventHandler<T> => ({
    ...handler,
    listed(uids, version) {
      handler.listed?.(uids, version);
      if (pending.delete(resource) && pending.size === 0) onListed();
    },
  });
  const sandboxes = { path: pathOf({ resource: "sandboxes", namespace }), parse: readSandbox };
  const pods = {
    path: pathOf({ resource: "pods", namespace }),
    // Selects the Pods of sandboxes: a cluster has many more Pods.
    query: { labelSelector: NAME_HASH_LABEL },
    parse: (object: unknown) => readPod(object, allowLoopbackPodIp),
  };
  await Promise.all([
    listAndWatch(api, sandboxes, counted("sandboxes", index.sandboxes), {
      log,
      signal,
      onHeard: () => onHeard?.("sandboxes"),
    }),
    listAndWatch(api, pods, counted("pods", index.pods), { log, signal, onHeard: () => onHeard?.("pods") }),
  ]);
}

/** The API server, and the index for its answers: they may be newer than what the watch has shown. */
export interface IndexedAPI {
  api: Api;
  index: SandboxIndex;
}

interface SandboxRef {
  namespace: string;
  name: string;
}

/** Reads the Sandbox. @throws if the API server does not answer */
export async function getSandbox(indexed: IndexedAPI, ref: SandboxRef): Promise<Answer> {
  return await send(indexed, "GET", ref);
}

/** Merges `body` into the Sandbox. @throws if the API server does not answer */
export async function patchSandbox(indexed: IndexedAPI, ref: SandboxRef, body: object): Promise<Answer> {
  return await send(indexed, "PATCH", ref, body);
}

async function send(
  { api, index }: IndexedAPI,
  method: "GET" | "PATCH",
  { namespace, name }: SandboxRef,
  body?: object,
): Promise<Answer> {
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const answer = await api.send({ method, path, ...(body ? { body } : {}) });
  const sandbox = isOk(answer) ? readSandbox(answer.body) : undefined;
  if (sandbox) index.answered(sandbox);
  return answer;
}

/**
 * Lists the Pods of the Sandbox into the index, and removes its Pods that are not listed. Call it through
 * {@link createLookup}, which limits the requests.
 *
 * @throws if the API server does not answer, or refuses
 */
export async function listPods(
  { api, index }: IndexedAPI,
  { namespace, name }: SandboxRef,
  allowLoopbackPodIp: boolean,
): Promise<void> {
  const before = [...index.find(namespace, name)?.pods.keys() ?? []];
  const path = pathOf({ resource: "pods", namespace });
  const answer = await api.send({
    method: "GET",
    path,
    query: { labelSelector: `${NAME_HASH_LABEL}=${nameHash(name)}` },
  });
  if (!isOk(answer)) throw answerError(`list the Pods of Sandbox ${namespace}/${name}`, answer);
  const pods = (answer.body as { items: unknown[] }).items.flatMap((item) => readPod(item, allowLoopbackPodIp) ?? []);
  const there = new Set(pods.map(({ metadata }) => metadata.uid));
  for (const uid of before) if (!there.has(uid)) index.pods.gone(uid);
  // The watch may have shown newer versions by now.
  pods.forEach(index.answeredPod);
}

/** Reads the Sandbox or its Pods from the API server into the index; resolves at the end, also after an error. */
export type Lookup = (namespace: string, name: string) => Promise<void>;

/** Requests for names that do not exist must not cause as many requests to the API server. */
const LEAST_INTERVAL_MS = 1000;
const LOOKUPS_PER_SECOND = 50;
/** Limit for one namespace, so that some look-ups remain for others. */
const LOOKUPS_PER_NAMESPACE = 25;
const REMEMBERED = 10_000;

/**
 * Creates a limited {@link Lookup}: one at a time for each name, at most once a second; {@link LOOKUPS_PER_SECOND} in all,
 * and half as many for one namespace.
 *
 * @param ask reads from the API server into the index
 */
export function createLookup(
  ask: (ref: SandboxRef) => Promise<unknown>,
  log: Log,
  now: () => number = Date.now,
): Lookup {
  const running = new Map<string, Promise<void>>();
  const lookedUpAt = new Map<string, number>();
  const all = createRateLimit(LOOKUPS_PER_SECOND, LOOKUPS_PER_SECOND);
  const ofNamespace = createRateLimit(LOOKUPS_PER_NAMESPACE, LOOKUPS_PER_NAMESPACE);

  async function lookUp(namespace: string, name: string): Promise<void> {
    try {
      await ask({ namespace, name });
    } catch (error) {
      log("warn", "Cannot look at a Sandbox", { namespace, name, ...errorFields(error), stack: undefined });
    }
  }

  function isAllowed(namespace: string, key: string): boolean {
    const time = now();
    if (time - (lookedUpAt.get(key) ?? -Infinity) < LEAST_INTERVAL_MS) return false;
    // In this order: a look-up that the namespace's limit refuses uses nothing of the common limit.
    if (ofNamespace(namespace, time) > 0 || all("", time) > 0) return false;
    lookedUpAt.delete(key);
    lookedUpAt.set(key, time);
    for (const oldest of lookedUpAt.keys()) {
      if (lookedUpAt.size <= REMEMBERED) break;
      lookedUpAt.delete(oldest);
    }
    return true;
  }

  return (namespace, name) => {
    const key = `${namespace}/${name}`;
    const underWay = running.get(key);
    if (underWay) return underWay;
    if (!isAllowed(namespace, key)) return Promise.resolve();
    const lookup = lookUp(namespace, name).finally(() => running.delete(key));
    running.set(key, lookup);
    return lookup;
  };
}
