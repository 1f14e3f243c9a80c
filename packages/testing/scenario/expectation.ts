/** Checks whether objects are as a step of a scenario requires. Pure. @module */
import { sameJson } from "../../api/objects/apply.ts";
import { type Condition, findCondition } from "../../api/objects/conditions.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { isSubsequence } from "./compare.ts";
import type { Wanted } from "./format.ts";
import type { Passing } from "./recorder.ts";

/** Tells whether an object is as required; `object` undefined: there is none. */
export function isAsWanted(object: KubeObject | undefined, wanted: Wanted): boolean {
  if (wanted === "gone") return object === undefined;
  const status = (object?.["status"] ?? {}) as Record<string, unknown> & { conditions?: Condition[] };
  if (!isCondition(wanted)) return Object.entries(wanted).every(([key, value]) => sameJson(status[key], value));
  const found = findCondition(status.conditions, wanted.type);
  return found?.status === wanted.status && (wanted.reason === undefined || found.reason === wanted.reason);
}

/**
 * Checks the states of conditions.
 *
 * @throws {Error} with the condition and its real states if they are not as expected
 */
export function checkExpectation(title: string, expected: Record<string, string[]>, seen: Passing): void {
  for (const [type, states] of Object.entries(expected)) {
    const track = seen[type] ?? [];
    const fits = track.at(-1) === states.at(-1) && isSubsequence(track, states);
    if (!fits) throw new Error(`Cannot ${title}: ${type} was ${track.join(", ") || "never there"}`);
  }
}

function isCondition(
  wanted: Exclude<Wanted, "gone">,
): wanted is Exclude<Wanted, "gone"> & { type: string; status: string; reason: string | undefined } {
  return typeof wanted["type"] === "string" && typeof wanted["status"] === "string";
}
