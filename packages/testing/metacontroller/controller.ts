/** Runs one controller: its informers, hooks and queue, and which parents a change enqueues. @module */
import { sameJson } from "../../api/objects/apply.ts";
import { controllerOf, type KubeObject, type OwnerReference } from "../../api/objects/objects.ts";
import { type Matcher, matcherOf } from "../store/selectors.ts";
import { groupOf, keyOf, type Resource, splitKey, type Store } from "../store/store.ts";
import { type Strategies, strategyKey } from "./children.ts";
import { createCustomize, type Customize, NotSynced } from "./customize.ts";
import type { ChildRule, Definition, HookName, ParentRule } from "./definition.ts";
import { ANSWERS, createHook, type Fetch, type Hook, TooManyRequests } from "./hook.ts";
import type { Change, Informer, Informers } from "./informer.ts";
import type { Recorder } from "./metacontroller.ts";
import { createQueue } from "./queue.ts";
import { concerns } from "./sync.ts";

/** The parts that all controllers share. */
export interface SharedParts {
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

interface Children {
  rule: ChildRule;
  resource: Resource;
  informer: Informer;
}

/** The parts of a controller that a sync uses. */
export interface Controller {
  definition: Definition;
  store: Store;
  sleep: SharedParts["sleep"];
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
export interface ControllerKind {
  sync(controller: Controller, parents: Parents, parent: KubeObject): Promise<void>;
  /** The selector with which a parent adopts objects; undefined: it never adopts. */
  adoption(controller: Controller, parent: KubeObject): Matcher | undefined;
}

export interface RunningController {
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
  shared: SharedParts,
  definition: Definition,
  controllerKind: ControllerKind,
): Promise<RunningController> {
  const stopping = new AbortController();
  const controller = await prepare(shared, definition, stopping.signal, {
    enqueue: (parents, parent) => queue.add(queueKey(parents, parent)),
    resyncAfter: (parents, parent, seconds) => queue.addAfter(queueKey(parents, parent), seconds * 1000),
  });
  const queue = createQueue(shared.store.clock, shared.workers, async (key) => {
    try {
      await syncKey(controller, controllerKind, key);
      queue.forget(key);
    } catch (error) {
      if (error instanceof TooManyRequests) return queue.addAfter(key, error.seconds * 1000);
      queue.addRateLimited(key);
      if (!(error instanceof NotSynced) && !stopping.signal.aborted) reportFailure(shared, controller, key, error);
    }
  });
  const end = subscribe(controller, controllerKind);
  const informers = [...controller.parents, ...controller.children].map(({ informer }) => informer);
  void Promise.all(informers.map(({ synced }) => synced)).then(() => queue.start());
  return {
    definition,
    async stop() {
      stopping.abort();
      end();
      await queue.stop();
      informers.forEach(shared.informers.release);
      controller.customize.stop();
    },
    busy: queue.busy,
  };
}

type Queueing = Pick<Controller, "enqueue" | "resyncAfter">;

async function prepare(
  shared: SharedParts,
  definition: Definition,
  signal: AbortSignal,
  queueing: Queueing,
): Promise<Controller> {
  const { store, informers, fetch, sleep } = shared;
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

async function syncKey(controller: Controller, controllerKind: ControllerKind, key: string): Promise<void> {
  const found = parentOf(controller, key);
  if (found && concerns(controller, found.entry, found.parent)) {
    await controllerKind.sync(controller, found.entry, found.parent);
  }
}

function reportFailure({ recorder, log }: SharedParts, controller: Controller, key: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const found = parentOf(controller, key);
  if (found) recorder.record(found.parent, "Warning", "SyncError", `Sync error: ${message}`);
  log("sync failed", { controller: controller.definition.name, key, error: message });
}

function zip<A, B, C>(as: readonly A[], bs: readonly B[], make: (a: A, b: B, index: number) => C): C[] {
  return as.map((a, i) => make(a, bs[i] as B, i));
}

/** Enqueues every parent now, and then those that a change concerns, until the returned function is called. */
function subscribe(controller: Controller, controllerKind: ControllerKind): () => void {
  const { parents, children, customize, definition, store } = controller;
  const all = () => parents.flatMap((entry) => entry.informer.list().map((parent) => ({ entry, parent })));
  const ends = parents.map((entry) => entry.informer.subscribe((change) => onParent(controller, entry, change)));
  for (const { informer } of children) {
    ends.push(informer.subscribe((change) => onChild(controller, controllerKind, change)));
  }
  customize.start(() =>
    all().map(({ entry, parent }) => ({
      parent,
      resource: entry.resource,
      enqueue: () => enqueueIfConcerned(controller, entry, parent),
    }))
  );
  if (definition.resyncPeriodSeconds !== undefined) {
    const period = Math.max(definition.resyncPeriodSeconds, 1) * 1000;
    let cancel = () => {};
    const schedule = () =>
      cancel = store.clock.setTimeout(() => {
        schedule();
        for (const { entry, parent } of all()) enqueueIfConcerned(controller, entry, parent);
      }, period);
    schedule();
    ends.push(() => cancel());
  }
  return () => ends.forEach((end) => end());
}

function enqueueIfConcerned(controller: Controller, entry: Parents, parent: KubeObject): void {
  if (concerns(controller, entry, parent)) controller.enqueue(entry, parent);
}

function onParent(controller: Controller, entry: Parents, { old, current }: Change): void {
  const parent = current ?? old;
  if (!parent) return;
  if (entry.rule.ignoreStatusChanges && old && current && old !== current && isStatusChange(old, current)) return;
  enqueueIfConcerned(controller, entry, parent);
}

/** Like in Metacontroller, a change of only finalizers or ownerReferences counts as a change of the status. */
function isStatusChange({ metadata: old }: KubeObject, { metadata: current }: KubeObject): boolean {
  return old.generation === current.generation && sameJson(old.labels, current.labels) &&
    sameJson(old.annotations, current.annotations) && !current.deletionTimestamp;
}

/**
 * A child enqueues the parent that controls it now, not an earlier one. Without a controller, it enqueues all parents
 * that would adopt it.
 */
function onChild(controller: Controller, controllerKind: ControllerKind, { old, current }: Change): void {
  if (old && current && old.metadata.resourceVersion === current.metadata.resourceVersion) return;
  const child = current ?? old;
  if (!child) return;
  const owner = controllerOf(child.metadata);
  if (owner) enqueueOwner(controller, child.metadata.namespace, owner);
  else if (current && !child.metadata.deletionTimestamp) enqueueAdopters(controller, controllerKind, child);
}

/** Enqueues the owner: finds the resource by group and kind, in any version, then the parent by name and UID. */
function enqueueOwner(
  controller: Controller,
  namespace: string | undefined,
  { apiVersion, kind, name, uid }: OwnerReference,
): void {
  const entry = controller.parents.find(({ resource }) =>
    resource.kind === kind && groupOf(resource.apiVersion) === groupOf(apiVersion)
  );
  const parent = entry?.informer.get(entry.resource.namespaced ? namespace : undefined, name);
  if (entry && parent?.metadata.uid === uid) enqueueIfConcerned(controller, entry, parent);
}

function enqueueAdopters(controller: Controller, controllerKind: ControllerKind, { metadata }: KubeObject): void {
  for (const entry of controller.parents) {
    const candidates = entry.informer.list(entry.resource.namespaced ? metadata.namespace ?? "" : undefined);
    for (const parent of candidates) {
      if (controllerKind.adoption(controller, parent)?.(metadata.labels)) enqueueIfConcerned(controller, entry, parent);
    }
  }
}
