/**
 * Which Sandboxes a pool gives up, and why. It marks them first and deletes only what it then sees marked: a deletion
 * cannot be made to depend on the version that was judged, a mark can. @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { readApplied } from "./applied.ts";
import { blueprintHash, isLike, isStale } from "./blueprint.ts";
import type { DrainReason } from "./deletionreasons.ts";
import { isReady, type View } from "./view.ts";
import type { WarmPoolConfig } from "../flags.ts";

/** A Sandbox to be marked. */
export interface Drain {
  sandbox: Sandbox;
  reason: DrainReason;
}

/**
 * Decides what to mark, at most a batch. Source: Agent Sandbox API, section 3.3.4.
 *
 * | Sandbox | reason |
 * |---|---|
 * | was a claim's, or made for one | returned |
 * | unlike the template, strategy Recreate | stale |
 * | unlike the template, and not made here: anybody may have put the pool's label on it | stale |
 * | not Ready past the grace period, and another one would fare better | stuck |
 * | beyond the wanted number: the not Ready first, then the newest | surplus |
 */
export function drainsOf(view: View, config: WarmPoolConfig, now: Date): Drain[] {
  const certain = [
    ...view.returned.map((sandbox) => drain(sandbox, "returned")),
    ...staleMembers(view).map((sandbox) => drain(sandbox, "stale")),
    ...stuckMembers(view, config, now).map((sandbox) => drain(sandbox, "stuck")),
  ];
  const going = new Set(certain.map(({ sandbox }) => sandbox));
  const left = view.members.filter((member) => !going.has(member));
  const excess = Math.max(0, left.length - view.pool.spec.replicas);
  const unique = [...new Map(certain.map((entry) => [entry.sandbox, entry])).values()];
  const surplus = left.sort(leastUsefulFirst).slice(0, excess);
  return [...unique, ...surplus.map((sandbox) => drain(sandbox, "surplus"))].slice(0, config.maxBatchSize);
}

/** Tells whether a member is not Ready although it has had the grace period. */
export function isOverdue(member: Sandbox, { readinessGraceSeconds }: WarmPoolConfig, now: Date): boolean {
  return !isReady(member) && now.getTime() >= graceEnds(member, readinessGraceSeconds);
}

/** Returns when a member's grace period ends, in milliseconds since the epoch; NaN if it has no creation time. */
export function graceEnds({ metadata }: Sandbox, graceSeconds: number): number {
  return Date.parse(metadata.creationTimestamp ?? "") + graceSeconds * 1000;
}

/** Tells whether another member in its place would be no better off: no node takes it, a gate holds it, or its spec is bad. */
export function isHopeless({ status }: Sandbox): boolean {
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  if (scheduled?.status === "False") return ["Unschedulable", "SchedulingGated"].includes(scheduled.reason);
  return findCondition(status?.conditions, "Ready")?.reason === "InvalidConfiguration";
}

/** A hopeless member is kept as long as the template has not changed: from another one its successor may do better. */
function stuckMembers({ template, members }: View, config: WarmPoolConfig, now: Date): Sandbox[] {
  const overdue = members.filter((member) => isOverdue(member, config, now));
  const isHeld = template && overdue.length > 0 ? likeTemplate(template) : () => true;
  return overdue.filter((member) => !isHopeless(member) || !isHeld(member));
}

function staleMembers({ pool, template, members }: View): Sandbox[] {
  if (!template) return [];
  const isFresh = pool.spec.updateStrategy?.type === "Recreate" ? likeTemplate(template) : () => true;
  const isStranger = (member: Sandbox) => readApplied(member) === undefined && !isLike(member, template);
  return members.filter((member) => !isFresh(member) || isStranger(member));
}

function likeTemplate(template: SandboxTemplate): (member: Sandbox) => boolean {
  const hash = blueprintHash(template);
  return (member) => !isStale(member, template, hash);
}

function leastUsefulFirst(a: Sandbox, b: Sandbox): number {
  if (isReady(a) !== isReady(b)) return isReady(a) ? 1 : -1;
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  return first === second ? 0 : first < second ? 1 : -1;
}

function drain(sandbox: Sandbox, reason: DrainReason): Drain {
  return { sandbox, reason };
}
