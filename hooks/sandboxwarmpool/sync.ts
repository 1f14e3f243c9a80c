/**
 * The SandboxWarmPool hook: keeps the pool at its number of members and reports its status. It is a pure function.
 * @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { DRAINING_LABEL, REFILL_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { childKey, type Desired, type Observed, soonestResync } from "../../packages/webhook/metacontroller.ts";
import { appliedOf } from "./applied.ts";
import { wordsFor } from "./deletionreasons.ts";
import { type Drain, drainsOf, graceEnds, isHopeless } from "./drain.ts";
import { isLimited, refillOf } from "./refill.ts";
import { buildMember, type PoolSandbox } from "./sandbox.ts";
import { countedUpTo, isUncounted, memberName, nextPlaces, type Place, placeOf } from "./sequence.ts";
import { policyGraceSeconds } from "./policy.ts";
import { computeStatus } from "./status.ts";
import { isReady, ownedBy, type View, viewOf } from "./view.ts";
import type { WarmPoolConfig } from "../flags.ts";

/** If an event is lost, the pool is checked again after this many seconds. */
const RECHECK_SECONDS = 60;
/** When the pool's status is written, Metacontroller does not call the hook because of that. */
const SHORTLY_SECONDS = 0.2;

/**
 * Decides the members and the status of one pool. The binder decides which claim gets which member. When a member is
 * bound, it no longer belongs to the pool, and this hook does not observe it.
 *
 * @throws {RangeError} if the controller lacks its child rule or its customize hook
 */
export function syncSandboxWarmPool(
  observed: Observed<SandboxWarmPool>,
  now: Date,
  given: WarmPoolConfig,
): Desired<SandboxWarmPoolStatus> {
  const view = viewOf(observed);
  const { pool } = view;
  const config = settingsFor(pool, given);
  if (pool.metadata.deletionTimestamp !== undefined) return untouched(view);
  const { count, again = RECHECK_SECONDS } = refillOf(view, config, now);
  const made = placesOf(view, count, now);
  const { leaving, staying } = partOf(view);
  const status = computeStatus(view, made, config, now);
  // New members cause an event for the pool. If there are none, no event may come, so the hook asks for a resync.
  const isUnseen = made.length === 0 && isUncounted(status);
  return {
    status,
    children: [
      ...kept(view, drainsOf(view, config, now)),
      ...staying.map((sandbox) => appliedOf(sandbox, pool)),
      ...created(view, made, config),
    ],
    deletions: Object.fromEntries(leaving.map((sandbox) => [childKey(sandbox), wordsFor(sandbox)])),
    resyncAfterSeconds: soonestResync(
      staying.length > 0 || isUnseen ? SHORTLY_SECONDS : RECHECK_SECONDS,
      again,
      ...graceLeft(view, config, now),
      policyGraceSeconds(view, now) || RECHECK_SECONDS,
    ),
  };
}

/**
 * Splits the marked Sandboxes. A Sandbox may be deleted when its number is counted. Before that, a new member could get
 * its name.
 */
function partOf({ pool, draining }: View): { leaving: Sandbox[]; staying: Sandbox[] } {
  const counted = countedUpTo(pool);
  const isCounted = (sandbox: Sandbox) => (placeOf(sandbox)?.number ?? 0) <= counted;
  return { leaving: draining.filter(isCounted), staying: draining.filter((sandbox) => !isCounted(sandbox)) };
}

/** Returns every Sandbox that stays. Only the Sandboxes to be drained change: they get the mark. */
function kept({ pool, members, returned }: View, drains: Drain[]): PoolSandbox[] {
  const reasons = new Map(drains.map(({ sandbox, reason }) => [sandbox, reason]));
  return [...members, ...returned].map((sandbox) => {
    const reason = reasons.get(sandbox);
    const applied = appliedOf(sandbox, pool);
    return reason ? marked(applied, reason) : applied;
  });
}

function placesOf(view: View, count: number, now: Date): Place[] {
  const owned = ownedBy(view);
  const taken = new Set([...owned, ...view.returned].map(({ metadata }) => metadata.name));
  return nextPlaces(view.pool, owned, count, taken, now);
}

function created({ pool, template }: View, places: Place[], config: WarmPoolConfig): PoolSandbox[] {
  if (!template) return [];
  const members = places.map((place) => buildMember(pool, template, memberName(pool, place.number), place));
  return isLimited(config) ? members.map(limited) : members;
}

/** Marks the member so that the binder creates no replacement for it, because this would exceed the rate limit. */
function limited({ metadata, ...member }: PoolSandbox): PoolSandbox {
  return {
    ...member,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [REFILL_ANNOTATION]: "limited" } },
  };
}

function marked(applied: PoolSandbox, reason: string): PoolSandbox {
  return {
    ...applied,
    metadata: { ...applied.metadata, labels: { ...applied.metadata.labels, [DRAINING_LABEL]: reason } },
  };
}

/** Returns after how many seconds members that are not Ready may be replaced. */
function graceLeft({ members }: View, config: WarmPoolConfig, now: Date): number[] {
  return members.filter((member) => !isReady(member) && !isHopeless(member))
    .map((member) => (graceEnds(member, config.readinessGraceSeconds) - now.getTime()) / 1000)
    .filter((seconds) => seconds > 0);
}

/** If a pool is being deleted, the garbage collector deletes its members. */
function untouched({ pool, members, returned, draining }: View): Desired<SandboxWarmPoolStatus> {
  const all = [...members, ...returned, ...draining];
  return { status: { ...pool.status }, children: all.map((sandbox) => appliedOf(sandbox, pool)) };
}

/** Returns the settings for one pool: its spec overrides the command line. */
function settingsFor({ spec }: SandboxWarmPool, config: WarmPoolConfig): WarmPoolConfig {
  const { readinessGracePeriodSeconds: readinessGraceSeconds } = spec;
  return readinessGraceSeconds === undefined ? config : { ...config, readinessGraceSeconds };
}
