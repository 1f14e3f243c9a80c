/**
 * Summarizes a pool from the objects in a cluster: the claims it has served, and how fast its sandboxes start. Pure.
 * @module
 */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type ClaimView, launchTypeOf, type SandboxView, viewClaim, viewSandbox } from "./views.ts";
import type { PodFact } from "../api/diagnosis/facts.ts";
import { podNameOf } from "../api/objects/names.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { controllerOf, uidKey } from "../api/objects/objects.ts";

/** A pool with its claims, members and assigned Sandboxes. */
export interface PoolObjects {
  pool: SandboxWarmPool;
  claims: ClaimView[];
  /** Members without a claim. */
  members: Sandbox[];
  /** Sandboxes that are assigned to claims, by namespace and UID of the claim. */
  assigned: Map<string, { sandbox: Sandbox; view: SandboxView }>;
  /** Pods by namespace and name, as far as they were read. */
  pods: Map<string, PodFact>;
}

/** Groups the objects of a cluster, or of a namespace, by pool. */
export function byPool(
  pools: SandboxWarmPool[],
  claims: SandboxClaim[],
  sandboxes: Sandbox[],
  pods: readonly PodFact[] = [],
): PoolObjects[] {
  const podsByName = new Map(pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
  const claimsOf = Map.groupBy(claims.map(viewClaim), ({ regarding, pool }) => `${regarding.namespace}/${pool}`);
  const membersOf = Map.groupBy(sandboxes, ({ metadata }) => uidKey(metadata.namespace, controllerOf(metadata)?.uid));
  const assigned = new Map(sandboxes.flatMap((sandbox) => {
    const view = viewSandbox(sandbox);
    return view ? [[uidKey(view.namespace, view.claim), { sandbox, view }] as const] : [];
  }));
  return pools.map((pool) => ({
    pool,
    claims: claimsOf.get(`${pool.metadata.namespace}/${pool.metadata.name}`) ?? [],
    members: membersOf.get(uidKey(pool.metadata.namespace, pool.metadata.uid)) ?? [],
    assigned,
    pods: podsByName,
  }));
}

/** Number of claims by how they were served; `unknown`: their Sandbox no longer exists. */
export interface ServedCounts {
  warm: number;
  cold: number;
  unknown: number;
}

/** When a claim got its Sandbox, and whether the Sandbox was warm. */
export interface Assignment {
  /** In milliseconds since the epoch; -Infinity: not known. */
  at: number;
  how: keyof ServedCounts;
}

/** Lists when and how claims got their Sandboxes, in any order. Deleted claims are missing. */
export function assignmentsOf({ claims, assigned }: PoolObjects): Assignment[] {
  return claims.flatMap(({ regarding, sandbox, createdAt = -Infinity }) => {
    const view = assigned.get(uidKey(regarding.namespace, regarding.uid))?.view;
    if (!view && sandbox === undefined) return [];
    return [{ at: view?.assignedAt ?? createdAt, how: view?.launchType ?? "unknown" }];
  });
}

const HOUR_MS = 3_600_000;

/**
 * Counts the claims that got a Sandbox in the hour before `now`, in milliseconds since the epoch. Deleted claims are
 * missing.
 */
export function servedInHour(objects: PoolObjects, now: number): ServedCounts {
  const served: ServedCounts = { warm: 0, cold: 0, unknown: 0 };
  for (const { at, how } of assignmentsOf(objects)) if (at >= now - HOUR_MS) served[how]++;
  return served;
}

/**
 * Returns the creation time of each claim, in seconds since the epoch, ascending. It is precise to the millisecond if
 * an annotation records that, else the middle of its second.
 */
export function arrivalsOf({ claims }: PoolObjects): number[] {
  return claims.flatMap(({ starts: { controller }, createdAt }) => {
    if (createdAt === undefined) return [];
    const isNear = controller !== undefined && Math.abs(controller - createdAt) < SAME_TIME_MS;
    return [(isNear ? controller : createdAt + SAME_TIME_MS / 2) / 1000];
  }).sort((a, b) => a - b);
}

/**
 * Creation times are in whole seconds. A recorded time that is further away is when a waiting claim got its Sandbox, in
 * milliseconds.
 */
const SAME_TIME_MS = 1000;

/** How long Sandboxes took from creation to Ready. */
interface StartTimes {
  /** In seconds; undefined: no Sandbox is Ready. */
  mean: number | undefined;
  count: number;
}

/** Both times are in whole seconds, so that shorter durations cannot be measured. */
const SHORTEST_SECONDS = 0.5;
/** Durations above this multiple of the median are ignored: the Sandbox was resumed, not started. */
const OUTLIER = 3;

/** Measures start times: `warm` of current and former pool members, `cold` of Sandboxes made for one claim. */
export function startTimes({ claims, members, assigned, pods }: PoolObjects, launchType: "warm" | "cold"): StartTimes {
  const taken = claims.flatMap(({ regarding }) =>
    assigned.get(uidKey(regarding.namespace, regarding.uid))?.sandbox ?? []
  );
  const times = [...members, ...taken].filter(({ metadata }) => launchTypeOf(metadata.labels) === launchType)
    .flatMap((sandbox) => secondsToReady(sandbox, pods.get(`${sandbox.metadata.namespace}/${podNameOf(sandbox)}`)))
    .sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const usual = times.filter((time) => time <= OUTLIER * (median + 1));
  if (usual.length === 0) return { mean: undefined, count: 0 };
  const mean = usual.reduce((sum, time) => sum + time, 0) / usual.length;
  return { mean: Math.max(SHORTEST_SECONDS, mean), count: usual.length };
}

/** A Pod that becomes Ready later than this after its containers have started was Ready before: its node was away. */
const LATEST_READY_MS = 60_000;

/**
 * Returns the seconds from creation to the first Ready; empty: not known. Ready shows only its last change. So if the
 * containers started long before, their start counts instead; a restart shows nothing.
 */
function secondsToReady({ metadata, status }: Sandbox, pod: PodFact | undefined): number[] {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "True") return [];
  const containers = pod?.status?.containerStatuses ?? [];
  if (containers.some(({ restartCount = 0 }) => restartCount > 0)) return [];
  const started = containers.map(({ state }) => Date.parse(state?.running?.startedAt ?? "")).filter(Number.isFinite);
  const readyAt = Date.parse(ready.lastTransitionTime);
  const startedAt = Math.max(...started);
  const at = started.length > 0 && readyAt - startedAt > LATEST_READY_MS ? startedAt : readyAt;
  const seconds = (at - Date.parse(metadata.creationTimestamp ?? "")) / 1000;
  return seconds >= 0 ? [seconds] : [];
}
