/** A fake Metacontroller: runs every CompositeController and DecoratorController in a store, and records Events. @module */
import { setImmediate } from "node:timers/promises";
import { sameJson } from "../../api/objects/apply.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { groupOf, type Resource, type Store } from "../store/store.ts";
import { composite } from "./composite.ts";
import { type RunningController, type SharedParts, startController } from "./controller.ts";
import { decorator } from "./decorator.ts";
import { API_VERSION, type Definition, definitionOf } from "./definition.ts";
import type { Fetch } from "./hook.ts";
import { createInformers, type Informer } from "./informer.ts";
import { createQueue } from "./queue.ts";

export interface FakeMetacontroller {
  /** Resolves when all controllers that existed at the start have been listed. */
  ready(): Promise<void>;
  /** Stops all controllers; resolves when no work is running. */
  stop(): Promise<void>;
  /** Resolves when no work is left until an object changes or time passes. */
  idle(): Promise<void>;
}

/** Records Kubernetes Events about objects, and counts repeated ones. Never fails: a lost Event is logged. */
export interface Recorder {
  record(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Number of Events that are being written. */
  busy(): number;
}

interface FakeMetacontrollerOptions {
  store: Store;
  /**
   * Calls hooks; with an application's own `fetch` or `app.request`, no port is needed. Default: the runtime's `fetch`.
   */
  fetch?: Fetch;
  /** How many parents one controller syncs at a time. Default 5. */
  workers?: number;
  /** Called for failures, and when a controller starts or stops. Default: no log. */
  log?: (message: string, fields: Record<string, unknown>) => void;
}

const KINDS = ["CompositeController", "DecoratorController"];
const RETRY_MS = 1000;
/** The component that Events name as their source. */
const SOURCE = "fake-metacontroller";
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_ENTRIES = 4096;

/**
 * Starts the fake. It starts controllers that are or come into the store, restarts them when their spec changes, and
 * stops them when they are deleted. The store must serve the kinds CompositeController and DecoratorController.
 */
export function startFakeMetacontroller(
  { store, fetch = globalThis.fetch, workers = 5, log = () => {} }: FakeMetacontrollerOptions,
): FakeMetacontroller {
  const informers = createInformers(store);
  const recorder = createRecorder(store, (error) => log("event lost", { error: String(error) }));
  const { sleep, asleep } = createSleeper(store);
  const shared: SharedParts = { store, informers, recorder, fetch, workers, log, sleep };
  const running = new Map<string, RunningController>();
  const watched = new Map<string, Informer>();
  const stopping = new AbortController();
  const queue = createQueue(store.clock, 1, async (key) => {
    try {
      await reconcile(shared, watched, running, key);
      queue.forget(key);
    } catch (error) {
      log("controller failed", { controller: key, error: String(error) });
      queue.addRateLimited(key);
    }
  });
  queue.start();
  const started = Promise.all(KINDS.map((kind) => watchKind(shared, kind, watched, queue.add, stopping.signal)));
  const busy = () =>
    queue.busy() + informers.busy() + recorder.busy() +
    [...running.values()].reduce((sum, controller) => sum + controller.busy(), 0);
  return {
    ready: async () => void await started,
    async stop() {
      stopping.abort();
      await queue.stop();
      await Promise.all([...running.values()].map((controller) => controller.stop()));
      for (const informer of watched.values()) informers.release(informer);
    },
    async idle() {
      await started;
      for (let idleRounds = 0; idleRounds < 2;) {
        await setImmediate();
        idleRounds = busy() <= asleep() ? idleRounds + 1 : 0;
      }
    },
  };
}

/** Makes a sleep that counts its sleepers: a task that waits for time to pass does not count as busy. */
function createSleeper({ clock }: Store) {
  let sleepers = 0;
  return {
    asleep: () => sleepers,
    async sleep(milliseconds: number): Promise<void> {
      sleepers++;
      await new Promise<void>((resolve) => clock.setTimeout(resolve, milliseconds));
      sleepers--;
    },
  };
}

/** Watches one of the two kinds, as soon as it is served. */
async function watchKind(
  { store, informers, log, sleep }: SharedParts,
  kind: string,
  watched: Map<string, Informer>,
  add: (key: string) => void,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const logError = (error: unknown) => log("waiting for kind", { kind, error: String(error) });
    const resource = await store.kind(API_VERSION, kind).catch(logError);
    if (stopping.aborted) return;
    if (resource) {
      const informer = informers.acquire(resource);
      watched.set(kind, informer);
      informer.subscribe(({ old, current }) => add(`${kind}/${(current ?? old)?.metadata.name}`));
      return await informer.synced;
    }
    await sleep(RETRY_MS);
  }
}

/** Starts, restarts or stops the controller of a key `<kind>/<name>`, as the store requires. */
async function reconcile(
  shared: SharedParts,
  watched: Map<string, Informer>,
  running: Map<string, RunningController>,
  key: string,
): Promise<void> {
  const [kind = "", name = ""] = key.split("/");
  const object = watched.get(kind)?.get(undefined, name);
  const old = running.get(key);
  if (object && old && sameJson(old.definition.object["spec"], object["spec"])) return;
  if (object && !await isAccepted(shared, object)) return;
  if (old) {
    await old.stop();
    running.delete(key);
    report(shared, old.definition.object, "Normal", "Stopped");
  }
  if (!object) return;
  try {
    const definition = definitionOf(object);
    running.set(key, await startController(shared, definition, kindOf(definition)));
    report(shared, object, "Normal", "Started");
  } catch (error) {
    report(shared, object, "Warning", "CreateError", error);
    throw error;
  }
}

/** A composite's parent must be a custom resource with a status subresource; otherwise the controller is ignored. */
async function isAccepted(shared: SharedParts, object: KubeObject): Promise<boolean> {
  if (object.kind !== "CompositeController") return true;
  const { parentResource } = object["spec"] as { parentResource: { apiVersion: string; resource: string } };
  const crds = await shared.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions");
  const crd = await shared.store.get(
    crds,
    undefined,
    `${parentResource.resource}.${groupOf(parentResource.apiVersion)}`,
  );
  const { versions } = crd["spec"] as { versions: { name: string; subresources?: { status?: object } }[] };
  const version = versions.find(({ name }) => parentResource.apiVersion.endsWith(`/${name}`));
  if (version?.subresources?.status) return true;
  report(
    shared,
    object,
    "Warning",
    "SyncError",
    new Error(`Cannot start: ${crd.metadata.name} has no status subresource`),
  );
  return false;
}

function kindOf({ kind }: Definition) {
  return kind === "CompositeController" ? composite : decorator;
}

function report(
  { recorder, log }: SharedParts,
  object: KubeObject,
  type: "Normal" | "Warning",
  reason: string,
  error?: unknown,
): void {
  const { name } = object.metadata;
  const message = error instanceof Error ? error.message : `${reason} controller: ${name}`;
  recorder.record(object, type, reason, message);
  log(`controller ${reason}`, {
    kind: object.kind,
    controller: name,
    ...(error instanceof Error && { error: message }),
  });
}

/**
 * Makes a recorder. It writes up to 25 Events per object at once and one more every five minutes, and drops the rest.
 */
function createRecorder(store: Store, onLost: (error: unknown) => void): Recorder {
  const known = new Map<string, KubeObject>();
  const budget = new Map<string, { tokens: number; at: number }>();
  let tail: Promise<void> = Promise.resolve();
  let busy = 0;

  function spend(uid: string): boolean {
    const now = store.clock.now();
    const { tokens, at } = budget.get(uid) ?? { tokens: BURST, at: now };
    const left = Math.min(BURST, tokens + (now - at) / REFILL_MS) - 1;
    if (left < 0) return false;
    setBounded(budget, uid, { tokens: left, at: now });
    return true;
  }

  async function write(event: KubeObject): Promise<void> {
    const resource = await store.resource("v1", "events");
    const key = JSON.stringify([event["involvedObject"], event["reason"], event["message"]]);
    const last = known.get(key);
    const written = last ? await countAgain(store, resource, last, event) : await store.create(resource, event);
    setBounded(known, key, written);
  }

  return {
    record(object, type, reason, message) {
      if (!spend(object.metadata.uid ?? "")) return;
      busy++;
      const event = eventOf(object, type, reason, message, new Date(store.clock.now()));
      tail = tail.then(() => write(event)).catch(onLost).finally(() => busy--);
    },
    busy: () => busy,
  };
}

async function countAgain(store: Store, resource: Resource, last: KubeObject, event: KubeObject): Promise<KubeObject> {
  const again = { ...last, count: Number(last["count"]) + 1, lastTimestamp: event["lastTimestamp"] };
  return await store.update(resource, again).catch(() => store.create(resource, event));
}

function eventOf(object: KubeObject, type: string, reason: string, message: string, now: Date): KubeObject {
  const { name, namespace, uid = "", resourceVersion } = object.metadata;
  const time = now.toISOString().replace(/\.\d+Z$/, "Z");
  const unique = `${now.getTime().toString(16)}${Math.floor(Math.random() * 2 ** 32).toString(16)}`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${unique}`, namespace: namespace ?? "default" },
    involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid, resourceVersion },
    type,
    reason,
    message: message.slice(0, 1024),
    source: { component: SOURCE },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

function setBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_ENTRIES && oldest !== undefined) map.delete(oldest);
}
