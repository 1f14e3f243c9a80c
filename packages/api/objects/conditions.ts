/** metav1.Condition: its schema, and the rule for moving `lastTransitionTime`. No clock of its own. @module */
import * as z from "zod";
import { cutText, fitReason, LONGEST_MESSAGE } from "./fit.ts";

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
    ...fitWords(verdict),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime,
  };
}

/** Makes another writer's condition valid: for one invalid reason or message the API server refuses the whole status. */
export function fitCondition<T extends Condition>(condition: T): T {
  return { ...condition, ...fitWords(condition) };
}

/** If the reason has to change, the original reason becomes the start of the message. */
function fitWords({ reason, message }: { reason: string; message: string }): { reason: string; message: string } {
  const fitted = fitReason(reason, "Unknown");
  const whole = fitted === reason || reason === "" ? message : `${reason}${message === "" ? "" : `: ${message}`}`;
  return { reason: fitted, message: cutText(whole, LONGEST_MESSAGE) };
}

/** Writes an instant as metav1.Time does: RFC 3339, UTC, whole seconds (fractions are cut off). */
export function rfc3339(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, "Z");
}
