/**
 * Assembles a binder: its state, its terms of leadership, and its reaction to each event. The choice of a Sandbox for a
 * claim is in schedule.ts.
 * @module
 */
import { isEnd, isReachable } from "../api/claims/binding.ts";
import { isObject } from "../api/objects/json.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { policyToKeep } from "../api/templatepolicy.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { type EventHandler, isNewer, isolated, listAndWatch } from "../kube/watch.ts";
import { createWorkQueue } from "../kube/workqueue.ts";
import { systemClock } from "../process/clock.ts";
import { defaultsOf } from "../process/flags.ts";
import type { Log } from "../process/log.ts";
import { createClusterIndex } from "./clusterindex.ts";
import { BINDING_FLAGS } from "./options.ts";
import { createSchedulingQueue } from "./queue.ts";
import { reconcile } from "./reconcile.ts";
import { createRefills } from "./refills.ts";
import { requeuePool, shortageOf } from "./replacements.ts";
import { createReturns } from "./returns.ts";
import { schedule } from "./schedule.ts";
import {
  type Binder,
  type BindOptions,
  createQueuedClaim,
  dropTimers,
  isServing,
  parseClaim,
  type QueuedClaim,
  recordLoss,
  updateClaim,
  withdraw,
} from "./state.ts";
import { projectEnd } from "./store.ts";

const DEFAULTS = defaultsOf(BINDING_FLAGS);
/** Large claims that are served at the same time. */
const MOST_LARGE = 4;
/** Reports of claims that cannot be served which are written at the same time. */
const MOST_PROBLEM_REPORTS = 4;
/** All other reports that are written at the same time. */
const MOST_REPORTS = 40;
/** Deliveries, and resizes, at the same time. Runtimes that do not answer, each for ten seconds, may be all those of one namespace. */
const MOST_DELIVERIES = 40;
const MOST_OF_NAMESPACE = 10;

/** The interface of a binder to the watches that feed it. */
export interface Binding {
  /** Sandboxes and claims are passed as observed, not parsed. */
  handlers: {
    sandboxes: EventHandler<Sandbox>;
    sandboxclaims: EventHandler<SandboxClaim>;
    sandboxwarmpools: EventHandler<SandboxWarmPool>;
    sandboxtemplates: EventHandler<SandboxTemplate>;
    /** NetworkPolicies, as `policyToKeep` returns them. */
    networkpolicies: EventHandler<KubeObject>;
  };
  /** Call when all objects of every kind have been observed. From then on, claims may be served. */
  listed(): void;
  /** Serves claims until `term` fires. Returns when all bindings in progress have finished. */
  serve(term: AbortSignal): Promise<void>;
}

/** Creates a binder without any observed object. It sends no request before `serve` is called. */
export function createBinding(api: Api, options: BindOptions): Binding {
  const binder = createBinder(api, options);
  const { index } = binder;
  return {
    handlers: {
      sandboxes: index.sandboxes,
      sandboxclaims: claimHandler(binder),
      sandboxwarmpools: index.pools,
      sandboxtemplates: index.templates,
      networkpolicies: index.policies,
    },
    listed() {
      binder.isListed = true;
      begin(binder);
    },
    async serve(term) {
      binder.term = term;
      index.freshness.begin();
      begin(binder);
      await fired(term);
      binder.refills.stop();
      for (const cancel of binder.timers.values()) cancel();
      for (const entry of binder.claims.values()) dropTimers(entry);
      binder.problemReports.clear();
      binder.reports.clear();
      binder.deliveries.clear();
      binder.resizes.clear();
      while (binder.serving > 0) await new Promise<void>((fulfil) => binder.onIdle = fulfil);
    },
  };
}

function createBinder(api: Api, options: BindOptions): Binder {
  const {
    clock = systemClock,
    binderWorkers = DEFAULTS.binderWorkers,
    onServed = () => {},
    deliver = () => Promise.reject(new Error("the binder has no router to deliver through")),
    tracer,
    templateNetworkPolicy,
  } = options;
  const queue = createSchedulingQueue<QueuedClaim>(Math.max(1, Math.ceil(binderWorkers / 2)));
  const index = createClusterIndex({
    onPool: (namespace, pool) => poolChanged(binder, namespace, pool),
    onMembers: (namespace, pool) => membersChanged(binder, namespace, pool),
    onControlled: (namespace, claim, sandbox) => controlledChanged(binder, namespace, claim, sandbox),
    onReturned: createReturns(api, options.log, clock),
  });
  const refills = createRefills({
    clock,
    shortageOf: (namespace, name) => shortageOf(binder, namespace, name),
    notify: (shortage) => requeuePool(binder, shortage),
  });
  const binder: Binder = {
    ...options,
    clock,
    binderWorkers,
    onServed,
    deliver,
    tracer,
    templateNetworkPolicy,
    api,
    term: undefined,
    index,
    queue,
    refills,
    claims: new Map(),
    unschedulable: new Map(),
    awaitingMember: new Map(),
    timers: new Map(),
    serving: 0,
    largeJobs: 0,
    large: createWorkQueue(MOST_LARGE),
    unreportedLosses: new Set(),
    replacing: new Map(),
    isScheduling: false,
    problemReports: createWorkQueue(MOST_PROBLEM_REPORTS),
    reports: createWorkQueue(MOST_REPORTS),
    deliveries: createWorkQueue(MOST_DELIVERIES, MOST_OF_NAMESPACE),
    resizes: createWorkQueue(MOST_DELIVERIES, MOST_OF_NAMESPACE),
    unresizable: new Map(),
    isListed: false,
    schedule: () => schedule(binder),
    onIdle: () => {},
  };
  return binder;
}

/** Examines all pools and claims once everything is listed and this process leads. */
function begin(binder: Binder): void {
  if (!isServing(binder)) return;
  for (const pool of binder.index.pools.values()) {
    const { namespace = "", name } = pool.metadata;
    const { all } = binder.index.snapshot(namespace, name).members.counts();
    // The previous leader may have bound members of the pool without notifying the pool.
    if ((pool.status?.replicas ?? 0) > all) recordLoss(binder, pool);
    binder.refills.look(namespace, name);
  }
  for (const entry of binder.claims.values()) reconcile(binder, entry);
  schedule(binder);
}

/** Returns the handler for claims, which are passed as observed, not parsed. */
function claimHandler(binder: Binder): EventHandler<SandboxClaim> {
  const gone = (uid: string) => {
    const entry = binder.claims.get(uid);
    binder.claims.delete(uid);
    if (!entry) return;
    dropTimers(entry);
    withdraw(binder, entry);
  };
  return {
    listing() {
      // A list is authoritative, even if it is older than a write that was made since it began.
      for (const entry of binder.claims.values()) entry.assumed = undefined;
    },
    observe(raw) {
      const claim = parseClaim(raw);
      const { uid = "", resourceVersion: version = "" } = raw.metadata;
      const before = binder.claims.get(uid);
      // After a restore of etcd, nothing that this process knows about the claim is valid any more.
      if (!claim || isNewer(before?.version ?? "", version)) gone(uid);
      if (!claim) return;
      const entry = binder.claims.get(uid) ?? createQueuedClaim(claim, raw, binder.clock.now());
      // What was being written before the restore may be stored after it.
      if (entry !== before) entry.unsure = before?.unsure;
      binder.claims.set(uid, entry);
      Object.assign(entry, { version, shownIn: binder.term });
      if (entry.assumed !== undefined && isNewer(entry.assumed, version)) return;
      updateClaim(binder, entry, claim, raw);
      entry.assumed = undefined;
      reconcile(binder, entry);
      schedule(binder);
    },
    gone,
  };
}

/** Serves the claims that wait for this pool. Called when the pool or its template has changed. */
function poolChanged(binder: Binder, namespace: string, pool: string): void {
  if (!binder.index.pools.get(namespace, pool)) binder.unreportedLosses.delete(`${namespace}/${pool}`);
  if (!isServing(binder)) return;
  for (const entry of [...binder.unschedulable.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  membersChanged(binder, namespace, pool);
}

/**
 * Serves the claims that wait for members of this pool. Called when members have changed or the pool's status has
 * counted them.
 */
function membersChanged(binder: Binder, namespace: string, pool: string): void {
  if (!isServing(binder)) return;
  for (const entry of [...binder.awaitingMember.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  binder.refills.look(namespace, pool);
  if (binder.queue.wake(namespace, pool)) schedule(binder);
}

/** Handles a change of a Sandbox that a claim controls; undefined if the claim no longer controls it. */
function controlledChanged(binder: Binder, namespace: string, uid: string, sandbox: Sandbox | undefined): void {
  const entry = binder.claims.get(uid);
  if (entry?.claim.metadata.namespace !== namespace) return;
  // Also if it is gone: the claim may not have been shown when the Sandbox was.
  entry.hadSandbox = true;
  if (sandbox) {
    if (isReachable(sandbox)) {
      entry.starting?.end();
      entry.starting = undefined;
    }
    if (isEnd(sandbox.status?.conditions)) entry.ended = projectEnd(sandbox);
    else if (entry.ended?.metadata.name === sandbox.metadata.name) entry.ended = undefined;
  }
  reconcile(binder, entry, sandbox);
  schedule(binder);
}

/** Resolves when the signal fires. */
function fired(signal: AbortSignal): Promise<void> {
  return new Promise((fulfil) => {
    if (signal.aborted) return fulfil();
    signal.addEventListener("abort", () => fulfil(), { once: true });
  });
}

/**
 * Watches for a binder until `signal` fires, so that it can begin to serve at any time.
 *
 * The kinds are listed one after the other. Claims come before Sandboxes, so that at a start each Sandbox finds its
 * claim.
 */
export async function watchFor({ handlers, listed }: Binding, api: Api, log: Log, signal: AbortSignal): Promise<void> {
  const watching: Promise<void>[] = [];
  async function watch<T extends { metadata: ObjectMeta }>(
    resource: ObjectPath["resource"],
    parse: (object: unknown) => T | undefined,
    handler: EventHandler<T>,
  ): Promise<void> {
    const kindListed = Promise.withResolvers<void>();
    const safe = isolated(resource, handler, log);
    const onListed = (uids: ReadonlySet<string>, version?: string) => {
      safe.listed?.(uids, version);
      kindListed.resolve();
    };
    watching.push(
      listAndWatch(api, { path: pathOf({ resource }), parse }, { ...safe, listed: onListed }, { log, signal }),
    );
    await Promise.race([kindListed.promise, fired(signal)]);
  }
  await watch("networkpolicies", policyToKeep, handlers.networkpolicies);
  await watch("sandboxtemplates", (object) => sandboxTemplateSchema.safeParse(object).data, handlers.sandboxtemplates);
  await watch("sandboxwarmpools", (object) => sandboxWarmPoolSchema.safeParse(object).data, handlers.sandboxwarmpools);
  await watch("sandboxclaims", asObject<SandboxClaim>, handlers.sandboxclaims);
  await watch("sandboxes", asObject<Sandbox>, handlers.sandboxes);
  if (!signal.aborted) listed();
  await Promise.all(watching);
}

function asObject<T>(object: unknown): T | undefined {
  return isObject(object) && isObject(object["metadata"]) && isObject(object["spec"]) ? object as T : undefined;
}
