/** What the objects of a cluster tell of a pool: whom it has served, and how fast its sandboxes start. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type ClaimView, launchTypeOf, type SandboxView, viewClaim, viewSandbox } from "./views.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { controllerOf, uidKey } from "../api/objects/objects.ts";

/** A pool with its claims and all that was made for either. */
export interface PoolObjects {
  pool: SandboxWarmPool;
  claims: ClaimView[];
  /** Members that no claim has. */
  members: Sandbox[];
  /** Sandboxes that claims have, by namespace and UID of the claim. */
  given: Map<string, { sandbox: Sandbox; view: SandboxView }>;
}

/** Sorts the objects of a cluster, or of a namespace, by pool. */
export function byPool(pools: SandboxWarmPool[], claims: SandboxClaim[], sandboxes: Sandbox[]): PoolObjects[] {
  const claimsOf = Map.groupBy(claims.map(viewClaim), ({ regarding, pool }) => `${regarding.namespace}/${pool}`);
  const membersOf = Map.groupBy(sandboxes, ({ metadata }) => uidKey(metadata.namespace, controllerOf(metadata)?.uid));
  const given = new Map(sandboxes.flatMap((sandbox) => {
    const view = viewSandbox(sandbox);
    return view ? [[uidKey(view.namespace, view.claim), { sandbox, view }] as const] : [];
  }));
  return pools.map((pool) => ({
    pool,
    claims: claimsOf.get(`${pool.metadata.namespace}/${pool.metadata.name}`) ?? [],
    members: membersOf.get(uidKey(pool.metadata.namespace, pool.metadata.uid)) ?? [],
    given,
  }));
}

/** How claims were served; the unknown have lost their Sandbox. */
export interface Served {
  warm: number;
  cold: number;
  unknown: number;
}

/** That a claim was given its Sandbox. */
export interface Serving {
  /** In milliseconds since the epoch; -Infinity: nobody knows. */
  at: number;
  how: keyof Served;
}

/** Lists when claims were given their Sandboxes, and how, in any order. Claims that are deleted are not seen. */
export function servingsOf({ claims, given }: PoolObjects): Serving[] {
  return claims.flatMap(({ regarding, sandbox, createdAt = -Infinity }) => {
    const view = given.get(uidKey(regarding.namespace, regarding.uid))?.view;
    if (!view && sandbox === undefined) return [];
    return [{ at: view?.assignedAt ?? createdAt, how: view?.launchType ?? "unknown" }];
  });
}

const HOUR_MS = 3_600_000;

/** Counts the claims that were given a Sandbox in the hour before `now`, in milliseconds since the epoch. Deleted ones are not seen. */
export function servedInHour(objects: PoolObjects, now: number): Served {
  const served: Served = { warm: 0, cold: 0, unknown: 0 };
  for (const { at, how } of servingsOf(objects)) if (at >= now - HOUR_MS) served[how]++;
  return served;
}

/** Returns when each claim came, in seconds since the epoch, ascending: to the millisecond where it was noted, else half past its second. */
export function arrivalsOf({ claims }: PoolObjects): number[] {
  return claims.flatMap(({ starts: { controller }, createdAt }) => {
    if (createdAt === undefined) return [];
    const isNear = controller !== undefined && Math.abs(controller - createdAt) < NEAR_MS;
    return [(isNear ? controller : createdAt + NEAR_MS / 2) / 1000];
  }).sort((a, b) => a - b);
}

/** Creation is known to the second. What was noted later than that is when a claim that waited was given its Sandbox. */
const NEAR_MS = 1000;

/** How long Sandboxes took from their creation to Ready. */
export interface StartTimes {
  /** In seconds; undefined: none is Ready. */
  mean: number | undefined;
  count: number;
}

/** Creation and Ready are known to the second: nothing shorter can be measured. */
const SHORTEST_SECONDS = 0.5;
/** What took so many times the median has not started then, but woken up. */
const OUTLIER = 3;

/** Measures starts, of members and former members (`warm`) or of Sandboxes made for one claim. */
export function startTimes({ claims, members, given }: PoolObjects, launchType: "warm" | "cold"): StartTimes {
  const had = claims.flatMap(({ regarding }) => given.get(uidKey(regarding.namespace, regarding.uid))?.sandbox ?? []);
  const times = [...members, ...had].filter(({ metadata }) => launchTypeOf(metadata.labels) === launchType)
    .flatMap(secondsToReady).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const usual = times.filter((time) => time <= OUTLIER * (median + 1));
  if (usual.length === 0) return { mean: undefined, count: 0 };
  const mean = usual.reduce((sum, time) => sum + time, 0) / usual.length;
  return { mean: Math.max(SHORTEST_SECONDS, mean), count: usual.length };
}

function secondsToReady({ metadata, status }: Sandbox): number[] {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "True") return [];
  const seconds = (Date.parse(ready.lastTransitionTime) - Date.parse(metadata.creationTimestamp ?? "")) / 1000;
  return seconds >= 0 ? [seconds] : [];
}
