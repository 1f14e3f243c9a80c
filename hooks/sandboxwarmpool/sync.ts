/** The SandboxWarmPool hook: keeps as many members as there should be, and says how the pool stands. Sends nothing, reads no clock. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../../packages/api/sandboxwarmpool.ts";
import { DRAINING_LABEL, REFILL_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { childKey, type Desired, type Observed, soonestResync } from "../../packages/webhook/metacontroller.ts";
import { appliedOf } from "./applied.ts";
import { wordsFor } from "./deletionreasons.ts";
import { type Drain, drainsOf, graceEnds, isHopeless } from "./drain.ts";
import { isLimited, refillOf } from "./refill.ts";
import { buildMember, type PoolSandbox } from "./sandbox.ts";
import { countedUpTo, memberName, nextPlaces, type Place, placeOf } from "./sequence.ts";
import { policyGraceSeconds } from "./policy.ts";
import { computeStatus } from "./status.ts";
import { isReady, ownedBy, type View, viewOf } from "./view.ts";
import type { WarmPoolConfig } from "../flags.ts";

/** Nothing depends on an event that was lost for longer than this. */
const RECHECK_SECONDS = 60;
/** Our own status write wakes nobody. */
const SHORTLY_SECONDS = 0.2;

/**
 * Decides the members and the status of one pool. Which claim gets which member is the binder's business: one that has
 * changed hands is the pool's no more, and is not seen here.
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
  // What is made wakes the pool; what is there may not.
  const isUnseen = made.length === 0 && (status.observedSequence ?? 0) < (status.sequence ?? 0);
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

/** Parts the marked: one goes when its number is counted, or the next one could have its name. */
function partOf({ pool, draining }: View): { leaving: Sandbox[]; staying: Sandbox[] } {
  const counted = countedUpTo(pool);
  const isCounted = (sandbox: Sandbox) => (placeOf(sandbox)?.number ?? 0) <= counted;
  return { leaving: draining.filter(isCounted), staying: draining.filter((sandbox) => !isCounted(sandbox)) };
}

/** Answers with every Sandbox that stays, unchanged but for those that are marked. */
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

/** The binder makes no replacement of it: that would be beyond the limit. */
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

/** In how many seconds a member that is not Ready may be replaced. */
function graceLeft({ members }: View, config: WarmPoolConfig, now: Date): number[] {
  return members.filter((member) => !isReady(member) && !isHopeless(member))
    .map((member) => (graceEnds(member, config.readinessGraceSeconds) - now.getTime()) / 1000)
    .filter((seconds) => seconds > 0);
}

/** A pool that is being deleted leaves its members to the garbage collector. */
function untouched({ pool, members, returned, draining }: View): Desired<SandboxWarmPoolStatus> {
  const all = [...members, ...returned, ...draining];
  return { status: { ...pool.status }, children: all.map((sandbox) => appliedOf(sandbox, pool)) };
}

/** Returns the settings for one pool: its spec overrides the command line. */
function settingsFor({ spec }: SandboxWarmPool, config: WarmPoolConfig): WarmPoolConfig {
  const { readinessGracePeriodSeconds: readinessGraceSeconds } = spec;
  return readinessGraceSeconds === undefined ? config : { ...config, readinessGraceSeconds };
}
