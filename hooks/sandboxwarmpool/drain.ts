/**
 * Decides which Sandboxes a pool gives up, and why. The pool marks them first, and deletes only Sandboxes that it
 * observes as marked. A deletion cannot be limited to the version of the Sandbox that was judged, but a mark can.
 * @module
 */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { readApplied } from "./applied.ts";
import { blueprintHash, isLike, isStale } from "./blueprint.ts";
import type { DrainReason } from "./deletionreasons.ts";
import { isReady, type View } from "./view.ts";
import type { WarmPoolConfig } from "../flags.ts";

/** A Sandbox to mark as draining, and why. */
export interface Drain {
  sandbox: Sandbox;
  reason: DrainReason;
}

/**
 * Lists the Sandboxes to mark, at most `maxBatchSize`. Source: Agent Sandbox API, section 3.3.4.
 *
 * | Sandbox | reason |
 * |---|---|
 * | belonged to a claim, or was created for a claim | returned |
 * | differs from the template, and the update strategy is Recreate | stale |
 * | differs from the template, and was not created by this hook: anybody may set the pool's label | stale |
 * | is not Ready after the grace period, and a new member could become Ready | stuck |
 * | exceeds `spec.replicas`: first the members that are not Ready, then the newest | surplus |
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

/** Tells whether a member is not Ready although its grace period is over. */
export function isOverdue(member: Sandbox, { readinessGraceSeconds }: WarmPoolConfig, now: Date): boolean {
  return !isReady(member) && now.getTime() >= graceEnds(member, readinessGraceSeconds);
}

/** Returns when a member's grace period ends, in milliseconds since the epoch; NaN: the member has no creation time. */
export function graceEnds({ metadata }: Sandbox, graceSeconds: number): number {
  return Date.parse(metadata.creationTimestamp ?? "") + graceSeconds * 1000;
}

/**
 * Tells whether a new member would have the same problem: no node fits, a scheduling gate holds the Pod, or the spec is
 * invalid.
 */
export function isHopeless({ status }: Sandbox): boolean {
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  if (scheduled?.status === "False") return ["Unschedulable", "SchedulingGated"].includes(scheduled.reason);
  return findCondition(status?.conditions, "Ready")?.reason === "InvalidConfiguration";
}

/**
 * Lists overdue members that a new member could replace. A hopeless member stays until the template changes: a member
 * from a new template may become Ready.
 */
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
