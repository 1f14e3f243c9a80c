/** The type of metav1.Condition, the rule for changing `lastTransitionTime`, and text that fits into a condition. @module */
import type * as z from "zod";
import type { conditionSchema, conditionStatusSchema } from "./schemas.ts";

export type ConditionStatus = z.infer<typeof conditionStatusSchema>;

/** One entry of `status.conditions`. Times are RFC 3339 strings in UTC with whole seconds. */
export type Condition = z.infer<typeof conditionSchema>;

/** A condition without its time, which {@link stamp} adds. */
export interface Verdict<Type extends string = string, Reason extends string = string> {
  type: Type;
  status: ConditionStatus;
  reason: Reason;
  message: string;
}

/** Returns the condition of this type; undefined: there is none. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Creates a condition from a verdict.
 *
 * If the status is the same as before, `lastTransitionTime` stays, even if reason or message change. So if nothing
 * changes, the result has the same bytes, and Metacontroller writes nothing. Source: SetStatusCondition of
 * k8s.io/apimachinery, meta/conditions.go.
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

/**
 * Makes another writer's condition valid. Because of a single invalid reason or message, the API server would refuse
 * the whole status.
 */
export function fitCondition<T extends Condition>(condition: T): T {
  return { ...condition, ...fitWords(condition) };
}

/** If the reason has to change, the original reason becomes the start of the message. */
function fitWords({ reason, message }: { reason: string; message: string }): { reason: string; message: string } {
  const fitted = fitReason(reason, "Unknown");
  const whole = fitted === reason || reason === "" ? message : `${reason}${message === "" ? "" : `: ${message}`}`;
  return { reason: fitted, message: cutText(whole, LONGEST_MESSAGE) };
}

/** Formats a time as metav1.Time does: RFC 3339, UTC, whole seconds (fractions are cut off). */
export function rfc3339(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The pattern of `reason` in metav1.Condition. */
export const REASON_PATTERN = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
export const LONGEST_REASON = 1024;
/** In Unicode characters. JavaScript's `length` counts some characters twice. */
export const LONGEST_MESSAGE = 32_768;

/** Cuts text to `most` UTF-16 units, with an ellipsis at the end. A lone surrogate becomes U+FFFD, as in the API server. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // If the cut is in the middle of a character, its first half is left out.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/**
 * Converts a word to a valid reason: `queue-full` becomes `QueueFull`.
 *
 * @param fallback the result if the word has no valid character
 */
export function fitReason(word: string, fallback: string): string {
  if (word.length <= LONGEST_REASON && REASON_PATTERN.test(word)) return word;
  const joined = word.slice(0, LONGEST_REASON * 2)
    .replace(/[^A-Za-z0-9_,:]+(.?)/g, (_, next: string) => next.toUpperCase())
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, LONGEST_REASON)
    .replace(/[,:]+$/, "");
  return REASON_PATTERN.test(joined) ? joined[0]?.toUpperCase() + joined.slice(1) : fallback;
}
