/**
 * Changes an answer that would cause more losses than the budget allows: the affected children stay as they are, and
 * the status reports it. The rest of the answer is sent.
 * @module
 */
import { findCondition, stamp } from "../api/objects/conditions.ts";
import { conditionsOf, GUARDED } from "./statusrules.ts";
import { identity, type Loss } from "./guard.ts";
import { isObject } from "../api/objects/json.ts";
import { LOSSES_ALLOWED_ANNOTATION } from "../api/objects/keys.ts";
import { LOSS_RETRY_SECONDS, type LossBudget } from "./lossbudget.ts";
import { childKey, type Desired } from "./metacontroller.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { unchanged } from "./unchanged.ts";

const MOST_NAMED = 3;

/**
 * Returns the losses that are deferred: those for which the budget has no room. None is deferred if an annotation of
 * the parent allows losses.
 */
export function heldOf(losses: readonly Loss[], parent: KubeObject, now: Date, budget: LossBudget): Loss[] {
  if (losses.length === 0 || mayLose(parent, now)) return [];
  const uidOf = ({ child }: Loss) => child.metadata.uid ?? childKey(child);
  const staying = budget.spend(parent.metadata.namespace ?? "", [...new Set(losses.map(uidOf))]);
  return losses.filter((loss) => staying.has(uidOf(loss)));
}

function mayLose({ metadata }: KubeObject, now: Date): boolean {
  return Date.parse(metadata.annotations?.[LOSSES_ALLOWED_ANNOTATION] ?? "") > now.getTime();
}

/** Returns the children of an answer, where those that must stay are as they are. */
export function keeping(desired: readonly DesiredObject[], held: readonly Loss[]): DesiredObject[] {
  const staying = new Map(held.map(({ child }) => [identity(child), child]));
  return [...desired.filter((child) => !staying.has(identity(child))), ...[...staying.values()].map(unchanged)];
}

/**
 * Returns an answer whose status reports the deferred losses, and which asks for another call soon. If there are none,
 * the status no longer reports any. A parent without a status gets none.
 */
export function announced<Answer extends Partial<Pick<Desired<unknown>, "status" | "resyncAfterSeconds">>>(
  answer: Answer,
  parent: KubeObject,
  held: readonly Loss[],
  now: Date,
): Answer {
  const old = conditionsOf(parent);
  if (held.length === 0 && !findCondition(old, GUARDED)) return answer;
  const status = answer.status ?? parent["status"];
  if (!isObject(status)) return answer;
  const others = conditionsOf({ status }).filter(({ type }) => type !== GUARDED);
  if (held.length === 0) return { ...answer, status: { ...status, conditions: others } };
  const verdict = { type: GUARDED, status: "True", reason: "TooManyLosses", message: messageFor(held) } as const;
  return {
    ...answer,
    status: { ...status, conditions: [...others, stamp(verdict, old, parent.metadata.generation, now)] },
    resyncAfterSeconds: Math.min(answer.resyncAfterSeconds ?? LOSS_RETRY_SECONDS, LOSS_RETRY_SECONDS),
  };
}

function messageFor(held: readonly Loss[]): string {
  const names = held.slice(0, MOST_NAMED).map(({ child, what }) => `${childKey(child)} (would be ${what})`).join(", ");
  const more = held.length > MOST_NAMED ? ` and ${held.length - MOST_NAMED} more` : "";
  return `Deletion delayed by --max-losses-per-minute: ${names}${more}. ` +
    `To delete now, set annotation ${LOSSES_ALLOWED_ANNOTATION} to a time in the future`;
}
