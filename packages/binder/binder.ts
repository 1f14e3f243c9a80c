/**
 * Assembles a binder: its state, its watches, the terms in which it serves claims, and what follows from each event. What
 * a claim gets is chosen in schedule.ts. @module
 */
import { isEnd, isReachable } from "../api/claims/binding.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type SandboxTemplate, sandboxTemplateSchema } from "../api/sandboxtemplate.ts";
import { policyToKeep } from "../api/templatepolicy.ts";
import { type SandboxWarmPool, sandboxWarmPoolSchema } from "../api/sandboxwarmpool.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { type EventHandler, isolated, listAndWatch } from "../kube/watch.ts";
import { defaultsOf } from "../process/flags.ts";
import { systemClock } from "../process/clock.ts";
import { isObject } from "../api/objects/json.ts";
import type { Log } from "../process/log.ts";
import type { KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { createClusterIndex } from "./clusterindex.ts";
import { createSchedulingQueue } from "./queue.ts";
import { type Binder, type BindOptions, dropTimers, isServing, noteLoss, type QueuedClaim } from "./state.ts";
import { createRefills } from "./refills.ts";
import { claimHandler, reconcile } from "./reconcile.ts";
import { BINDING_FLAGS } from "./options.ts";
import { createReturns } from "./returns.ts";
import { shortageOf, tellPool } from "./replacements.ts";
import { schedule } from "./schedule.ts";
import { projectEnd } from "./store.ts";
import { createWorkQueue } from "../kube/workqueue.ts";

const DEFAULTS = defaultsOf(BINDING_FLAGS);
/** Large claims that are served at once. */
const MOST_LARGE = 4;
/** Claims that are reported at once that they cannot be served. */
const MOST_PROBLEM_REPORTS = 4;
/** Claims about which anything else is reported at once. */
const MOST_REPORTS = 40;

/** A binder as it is fed by watches. */
export interface Binding {
  /** Sandboxes and claims come as they were observed, untouched by a parser. */
  handlers: {
    sandboxes: EventHandler<Sandbox>;
    sandboxclaims: EventHandler<SandboxClaim>;
    sandboxwarmpools: EventHandler<SandboxWarmPool>;
    sandboxtemplates: EventHandler<SandboxTemplate>;
    /** As `policyToKeep` reads them. */
    networkpolicies: EventHandler<KubeObject>;
  };
  /** Every object of every kind has been seen: from now on claims may be served. */
  listed(): void;
  /** Serves claims until `term` fires; returns when what was begun is done. */
  serve(term: AbortSignal): Promise<void>;
}

/** Makes a binder that has seen nothing. Sends nothing before it is told to serve. */
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
      while (binder.serving > 0) await new Promise<void>((fulfil) => binder.onIdle = fulfil);
    },
  };
}

function createBinder(api: Api, options: BindOptions): Binder {
  const {
    clock = systemClock,
    binderWorkers = DEFAULTS.binderWorkers,
    onServed = () => {},
    tracer,
    templateNetworkPolicy = "optional",
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
    tell: (pool) => tellPool(binder, pool),
  });
  const binder: Binder = {
    ...options,
    clock,
    binderWorkers,
    onServed,
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
    large: createWorkQueue(MOST_LARGE),
    untold: new Set(),
    replacing: new Map(),
    isScheduling: false,
    problemReports: createWorkQueue(MOST_PROBLEM_REPORTS),
    reports: createWorkQueue(MOST_REPORTS),
    isListed: false,
    schedule: () => schedule(binder),
    onIdle: () => {},
  };
  return binder;
}

/** Looks at all that is there, once everything is known and this process leads. */
function begin(binder: Binder): void {
  if (!isServing(binder)) return;
  for (const pool of binder.index.pools.values()) {
    const { namespace = "", name } = pool.metadata;
    const { all } = binder.index.snapshot(namespace, name).members.counts();
    // What a binder before this one has handed over, it may not have told of.
    if ((pool.status?.replicas ?? 0) > all) noteLoss(binder, pool);
    binder.refills.look(namespace, name);
  }
  for (const entry of binder.claims.values()) reconcile(binder, entry);
  schedule(binder);
}

/** Serves those who wait for this pool: it or its template has changed. */
function poolChanged(binder: Binder, namespace: string, pool: string): void {
  if (!binder.index.pools.get(namespace, pool)) binder.untold.delete(`${namespace}/${pool}`);
  if (!isServing(binder)) return;
  for (const entry of [...binder.unschedulable.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  membersChanged(binder, namespace, pool);
}

/** Serves those who wait for members of this pool: they have changed, or have been counted. */
function membersChanged(binder: Binder, namespace: string, pool: string): void {
  if (!isServing(binder)) return;
  for (const entry of [...binder.awaitingMember.get(`${namespace}/${pool}`) ?? []]) reconcile(binder, entry);
  binder.refills.look(namespace, pool);
  if (binder.queue.wake(namespace, pool)) schedule(binder);
}

/** Takes note that a Sandbox which a claim controls has come, changed or, undefined, gone. */
function controlledChanged(binder: Binder, namespace: string, uid: string, sandbox: Sandbox | undefined): void {
  const entry = binder.claims.get(uid);
  if (entry?.claim.metadata.namespace !== namespace) return;
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

/**
 * Watches for a binder until `signal` fires, so that it is ready to serve at once.
 *
 * One kind is listed after the other: a claim is known before its Sandbox is, so that no binding is missed on a start.
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

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((fulfil) => {
    if (signal.aborted) return fulfil();
    signal.addEventListener("abort", () => fulfil(), { once: true });
  });
}
