/** metav1.Condition: its schema, and the rule for moving `lastTransitionTime`. No clock of its own. @module */
import * as z from "zod";

export const conditionStatusSchema = z.enum(["True", "False", "Unknown"]);
export type ConditionStatus = z.infer<typeof conditionStatusSchema>;

/** One entry of `status.conditions`. Times are RFC 3339 strings, whole seconds, UTC. */
export const conditionSchema = z.looseObject({
  type: z.string(),
  status: conditionStatusSchema,
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.number().optional(),
});
export type Condition = z.infer<typeof conditionSchema>;

/** A condition as a verdict: without the time, which {@link stamp} adds. */
export interface Verdict<Type extends string = string, Reason extends string = string> {
  type: Type;
  status: ConditionStatus;
  reason: Reason;
  message: string;
}

/** Returns the condition of that type, `undefined` if there is none. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Turns a verdict into a condition of `generation`.
 *
 * `lastTransitionTime` is that of the old condition of the type unless the status flips: a new reason or message alone
 * keeps it, so an unchanged world gives the same bytes and Metacontroller writes nothing.
 * Source: SetStatusCondition of k8s.io/apimachinery, meta/conditions.go.
 */
export function stamp(
  verdict: Verdict,
  old: readonly Condition[] | undefined,
  generation: number | undefined,
  now: Date,
): Condition {
  const before = findCondition(old, verdict.type);
  const lastTransitionTime = before?.status === verdict.status ? before.lastTransitionTime : rfc3339(now);
  return {
    type: verdict.type,
    status: verdict.status,
    reason: verdict.reason,
    message: inBounds(verdict.message),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime,
  };
}

/** Longest message that the API server takes, in characters: with a longer one it would refuse the whole status, for ever. */
const LONGEST_MESSAGE = 32_768;

function inBounds(message: string): string {
  if (message.length <= LONGEST_MESSAGE) return message;
  // A character that is cut in two is left out.
  return `${message.slice(0, LONGEST_MESSAGE - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Writes an instant as metav1.Time does: RFC 3339, UTC, whole seconds (fractions are cut off). */
export function rfc3339(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, "Z");
}
