/** A fake Metacontroller: runs every CompositeController and DecoratorController in a store. @module */
import { setImmediate } from "node:timers/promises";
import { sameJson } from "../../api/objects/apply.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { composite } from "./composite.ts";
import { type Running, startController, type Surroundings } from "./controller.ts";
import { decorator } from "./decorator.ts";
import { API_VERSION, type Definition, definitionOf } from "./definition.ts";
import { createRecorder } from "./events.ts";
import type { Fetch } from "./hook.ts";
import { createInformers, type Informer } from "./informer.ts";
import { createQueue } from "./queue.ts";
import { groupOf, type Store } from "./store.ts";

export interface EngineOptions {
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

export interface Engine {
  /** Resolves when all controllers that existed at the start have been listed. */
  ready(): Promise<void>;
  /** Stops all controllers; resolves when no work is running. */
  stop(): Promise<void>;
  /** Resolves when no work is left until an object changes or time passes. */
  idle(): Promise<void>;
}

const KINDS = ["CompositeController", "DecoratorController"];
const RETRY_MS = 1000;

/**
 * Starts the fake. It starts controllers that are or come into the store, restarts them when their spec changes, and
 * stops them when they are deleted. The store must serve the kinds CompositeController and DecoratorController.
 */
export function startEngine({ store, fetch = globalThis.fetch, workers = 5, log = () => {} }: EngineOptions): Engine {
  const informers = createInformers(store);
  const recorder = createRecorder(store, (error) => log("event lost", { error: String(error) }));
  const { sleep, asleep } = createSleeper(store);
  const around: Surroundings = { store, informers, recorder, fetch, workers, log, sleep };
  const running = new Map<string, Running>();
  const watched = new Map<string, Informer>();
  const stopping = new AbortController();
  const queue = createQueue(store.clock, 1, async (key) => {
    try {
      await reconcile(around, watched, running, key);
      queue.forget(key);
    } catch (error) {
      log("controller failed", { controller: key, error: String(error) });
      queue.addRateLimited(key);
    }
  });
  queue.start();
  const started = Promise.all(KINDS.map((kind) => watchKind(around, kind, watched, queue.add, stopping.signal)));
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
      for (let quiet = 0; quiet < 2;) {
        await setImmediate();
        quiet = busy() <= asleep() ? quiet + 1 : 0;
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
  { store, informers, log, sleep }: Surroundings,
  kind: string,
  watched: Map<string, Informer>,
  add: (key: string) => void,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const lost = (error: unknown) => log("waiting for kind", { kind, error: String(error) });
    const resource = await store.kind(API_VERSION, kind).catch(lost);
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
  around: Surroundings,
  watched: Map<string, Informer>,
  running: Map<string, Running>,
  key: string,
): Promise<void> {
  const [kind = "", name = ""] = key.split("/");
  const object = watched.get(kind)?.get(undefined, name);
  const old = running.get(key);
  if (object && old && sameJson(old.definition.object["spec"], object["spec"])) return;
  if (object && !await isAccepted(around, object)) return;
  if (old) {
    await old.stop();
    running.delete(key);
    report(around, old.definition.object, "Normal", "Stopped");
  }
  if (!object) return;
  try {
    const definition = definitionOf(object);
    running.set(key, await startController(around, definition, flavourOf(definition)));
    report(around, object, "Normal", "Started");
  } catch (error) {
    report(around, object, "Warning", "CreateError", error);
    throw error;
  }
}

/** A composite's parent must be a custom resource with a status subresource; otherwise the controller is ignored. */
async function isAccepted(around: Surroundings, object: KubeObject): Promise<boolean> {
  if (object.kind !== "CompositeController") return true;
  const { parentResource } = object["spec"] as { parentResource: { apiVersion: string; resource: string } };
  const crds = await around.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions");
  const crd = await around.store.get(
    crds,
    undefined,
    `${parentResource.resource}.${groupOf(parentResource.apiVersion)}`,
  );
  const { versions } = crd["spec"] as { versions: { name: string; subresources?: { status?: object } }[] };
  const version = versions.find(({ name }) => parentResource.apiVersion.endsWith(`/${name}`));
  if (version?.subresources?.status) return true;
  report(
    around,
    object,
    "Warning",
    "SyncError",
    new Error(`Cannot start: ${crd.metadata.name} has no status subresource`),
  );
  return false;
}

function flavourOf({ kind }: Definition) {
  return kind === "CompositeController" ? composite : decorator;
}

function report(
  { recorder, log }: Surroundings,
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
