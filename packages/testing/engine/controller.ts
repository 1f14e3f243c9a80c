/** Runs one controller: its resources, informers, hooks and queue. Its flavour implements the sync. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Strategies, strategyKey } from "./children.ts";
import { createCustomize, type Customize, NotSynced } from "./customize.ts";
import type { ChildRule, Definition, HookName, ParentRule } from "./definition.ts";
import type { Recorder } from "./events.ts";
import { ANSWERS, createHook, type Fetch, type Hook, TooManyRequests } from "./hook.ts";
import type { Informer, Informers } from "./informer.ts";
import { createQueue } from "./queue.ts";
import { type Matcher, matcherOf } from "./selector.ts";
import { keyOf, type Resource, splitKey, type Store } from "./store.ts";
import { concerns } from "./sync.ts";
import { subscribe } from "./wake.ts";

/** The parts that all controllers share. */
export interface Surroundings {
  store: Store;
  informers: Informers;
  recorder: Recorder;
  fetch: Fetch;
  workers: number;
  /** Resolves after a number of milliseconds. */
  sleep: (milliseconds: number) => Promise<void>;
  log: (message: string, fields: Record<string, unknown>) => void;
}

export interface Parents {
  rule: ParentRule;
  resource: Resource;
  informer: Informer;
  /** Tells whether a parent matches the rule's label and annotation selectors. */
  matches: (parent: KubeObject) => boolean;
}

export interface Children {
  rule: ChildRule;
  resource: Resource;
  informer: Informer;
}

/** The parts of a controller that a sync uses. */
export interface Controller {
  definition: Definition;
  store: Store;
  sleep: Surroundings["sleep"];
  parents: Parents[];
  children: Children[];
  strategies: Strategies;
  hooks: Record<"sync" | "finalize", Hook | undefined>;
  customize: Customize;
  /** Aborted when the controller stops. */
  signal: AbortSignal;
  enqueue(parents: Parents, parent: KubeObject): void;
  resyncAfter(parents: Parents, parent: KubeObject, seconds: number): void;
}

/** The differences between CompositeController and DecoratorController. */
export interface Flavour {
  sync(controller: Controller, parents: Parents, parent: KubeObject): Promise<void>;
  /** The selector with which a parent adopts objects; undefined: it never adopts. */
  adoption(controller: Controller, parent: KubeObject): Matcher | undefined;
}

export interface Running {
  definition: Definition;
  /** Ends watches and work; resolves when no sync is running. */
  stop(): Promise<void>;
  /** Number of parents that are queued or being synced. */
  busy(): number;
}

/**
 * Starts a controller. It syncs every parent once its informers have their first lists.
 *
 * @throws {StoreError} if a resource is not served
 * @throws {RangeError} if the controller is invalid
 */
export async function startController(
  around: Surroundings,
  definition: Definition,
  flavour: Flavour,
): Promise<Running> {
  const stopping = new AbortController();
  const controller = await prepare(around, definition, stopping.signal, {
    enqueue: (parents, parent) => queue.add(queueKey(parents, parent)),
    resyncAfter: (parents, parent, seconds) => queue.addAfter(queueKey(parents, parent), seconds * 1000),
  });
  const queue = createQueue(around.store.clock, around.workers, async (key) => {
    try {
      await syncKey(controller, flavour, key);
      queue.forget(key);
    } catch (error) {
      if (error instanceof TooManyRequests) return queue.addAfter(key, error.seconds * 1000);
      queue.addRateLimited(key);
      if (!(error instanceof NotSynced) && !stopping.signal.aborted) reportFailure(around, controller, key, error);
    }
  });
  const end = subscribe(controller, flavour);
  const informers = [...controller.parents, ...controller.children].map(({ informer }) => informer);
  void Promise.all(informers.map(({ synced }) => synced)).then(() => queue.start());
  return {
    definition,
    async stop() {
      stopping.abort();
      end();
      await queue.stop();
      informers.forEach(around.informers.release);
      controller.customize.stop();
    },
    busy: queue.busy,
  };
}

type Queueing = Pick<Controller, "enqueue" | "resyncAfter">;

async function prepare(
  around: Surroundings,
  definition: Definition,
  signal: AbortSignal,
  queueing: Queueing,
): Promise<Controller> {
  const { store, informers, fetch, sleep } = around;
  const fields = definition.kind === "CompositeController" ? ANSWERS.composite : ANSWERS.decorator;
  const hook = (name: HookName) =>
    createHook(name, definition.hooks[name], name === "customize" ? ANSWERS.customize : fields, {
      fetch,
      clock: store.clock,
    });
  const hooks = { sync: hook("sync"), finalize: hook("finalize") };
  const customizeHook = hook("customize");
  const matchers = definition.parents.map(matcherOfRule);
  const resolve = ({ apiVersion, resource }: ParentRule | ChildRule) => store.resource(apiVersion, resource);
  const parentResources = await Promise.all(definition.parents.map(resolve));
  const childResources = await Promise.all(definition.children.map(resolve));

  const parents = zip(definition.parents, parentResources, (rule, resource, i) => ({
    rule,
    resource,
    informer: informers.acquire(resource),
    matches: matchers[i] ?? (() => false),
  }));
  const children = zip(
    definition.children,
    childResources,
    (rule, resource) => ({ rule, resource, informer: informers.acquire(resource) }),
  );
  const strategies = new Map(children.map(({ rule, resource }) => [
    strategyKey(resource.apiVersion, resource.kind),
    rule.updateStrategy?.method || "OnDelete",
  ]));
  const customize = createCustomize({ store, informers, hook: customizeHook, controller: definition.sent, signal });
  return { definition, store, sleep, signal, parents, children, strategies, hooks, customize, ...queueing };
}

function matcherOfRule({ labelSelector, annotationSelector }: ParentRule): Parents["matches"] {
  const { matchAnnotations = {}, matchExpressions = [] } = annotationSelector ?? {};
  const labels = matcherOf(labelSelector);
  const annotations = matcherOf({ matchLabels: matchAnnotations, matchExpressions });
  return ({ metadata }) => labels(metadata.labels) && annotations(metadata.annotations);
}

function queueKey({ resource }: Parents, { metadata }: KubeObject): string {
  return `${prefixOf(resource)}${keyOf(metadata)}`;
}

function prefixOf({ apiVersion, kind }: Resource): string {
  return `${apiVersion}:${kind}:`;
}

/** Returns the cached parent for a queue key; undefined if it is deleted. */
function parentOf({ parents }: Controller, key: string): { entry: Parents; parent: KubeObject } | undefined {
  const entry = parents.find(({ resource }) => key.startsWith(prefixOf(resource)));
  if (!entry) return undefined;
  const { namespace, name } = splitKey(key.slice(prefixOf(entry.resource).length));
  const parent = entry.informer.get(namespace, name);
  return parent && { entry, parent };
}

async function syncKey(controller: Controller, flavour: Flavour, key: string): Promise<void> {
  const found = parentOf(controller, key);
  if (found && concerns(controller, found.entry, found.parent)) {
    await flavour.sync(controller, found.entry, found.parent);
  }
}

function reportFailure({ recorder, log }: Surroundings, controller: Controller, key: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const found = parentOf(controller, key);
  if (found) recorder.record(found.parent, "Warning", "SyncError", `Sync error: ${message}`);
  log("sync failed", { controller: controller.definition.name, key, error: message });
}

function zip<A, B, C>(as: readonly A[], bs: readonly B[], make: (a: A, b: B, index: number) => C): C[] {
  return as.map((a, i) => make(a, bs[i] as B, i));
}
