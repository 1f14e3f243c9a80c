/** What is answered where more would go than is allowed: children stay as they are, the rest is served, and the status says so. Pure. @module */
import { findCondition, stamp } from "../api/objects/conditions.ts";
import { conditionsOf, GUARDED } from "./statusrules.ts";
import { identity, type Loss } from "./guard.ts";
import { isObject } from "../api/objects/json.ts";
import { LOSSES_ALLOWED_ANNOTATION } from "../api/objects/keys.ts";
import { type LossBudget, RETRY_SECONDS } from "./lossbudget.ts";
import { childKey, type Desired } from "./metacontroller.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { unchanged } from "./unchanged.ts";

const MOST_NAMED = 3;

/** Returns those of the losses that have to wait: the budget has no room, and nobody has let go of them on purpose. */
export function heldOf(losses: readonly Loss[], parent: KubeObject, now: Date, budget: LossBudget): Loss[] {
  if (losses.length === 0 || mayLose(parent, now)) return [];
  const uidOf = ({ child }: Loss) => child.metadata.uid ?? childKey(child);
  const staying = budget.spend(parent.metadata.namespace ?? "", [...new Set(losses.map(uidOf))]);
  return losses.filter((loss) => staying.has(uidOf(loss)));
}

function mayLose({ metadata }: KubeObject, now: Date): boolean {
  return Date.parse(metadata.annotations?.[LOSSES_ALLOWED_ANNOTATION] ?? "") > now.getTime();
}

/** Returns the children of an answer with those that have to stay as they are. */
export function keeping(desired: readonly DesiredObject[], held: readonly Loss[]): DesiredObject[] {
  const staying = new Map(held.map(({ child }) => [identity(child), child]));
  return [...desired.filter((child) => !staying.has(identity(child))), ...[...staying.values()].map(unchanged)];
}

/**
 * Returns an answer whose status says what is kept, and which is asked for again soon; where nothing is, one whose status
 * no longer says so. A parent that has no status gets none.
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
    resyncAfterSeconds: Math.min(answer.resyncAfterSeconds ?? RETRY_SECONDS, RETRY_SECONDS),
  };
}

function messageFor(held: readonly Loss[]): string {
  const names = held.slice(0, MOST_NAMED).map(({ child, what }) => `${childKey(child)} (would be ${what})`).join(", ");
  const more = held.length > MOST_NAMED ? ` and ${held.length - MOST_NAMED} more` : "";
  return `Deletion delayed by --max-losses-per-minute: ${names}${more}. ` +
    `To delete now, set annotation ${LOSSES_ALLOWED_ANNOTATION} to a time in the future`;
}
