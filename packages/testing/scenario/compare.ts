/** Whether two runs of a scenario had the same history, and where not. Pure. @module */
import { canonicalJson } from "../../api/objects/apply.ts";
import type { Digest } from "./digest.ts";
import type { Kind } from "./kinds.ts";
import type { Passing } from "./recorder.ts";

/** What some steps led to, the last of which waited. */
export interface Segment {
  /** Such as `patch Sandbox/box`. */
  steps: string[];
  /** By `<kind>/<name>`: objects that the scenario names, at rest after the steps. An object that is not there does not exist. */
  named: Record<string, Digest>;
  /** All other objects at rest, by kind: how many there are of each digest, which is given as JSON. */
  others: Partial<Record<Kind, Record<string, number>>>;
  /** Of named objects of ours: what their conditions were from the last segment's end to this one's, both included. */
  passing: Record<string, Passing>;
}

/** The status history of a run. */
export interface ScenarioHistory {
  segments: Segment[];
}

/**
 * Lists how `seen` differs from the references; empty: it is the same history.
 *
 * | compared | same means |
 * |---|---|
 * | steps | the same, in the same order |
 * | objects that the scenario names, at rest after each segment | in all references the same digests: conditions with status and reason, mode, counts, owner, whether there is an address |
 * | all other objects, at rest | as many of each kind and digest, whatever they are called |
 * | a condition of a named object within a segment | `seen` shows nothing that one of the references does not show, in its order; it may skip what lies before its last |
 *
 * The last rule is for API servers. There, an engine that syncs twice in a row never writes what the first sync decided,
 * and a state that a hook is silent about for a second or two shows or not, depending on how fast Pods start. The
 * references are therefore runs in memory at several paces of Pods ({@link PACES}): each shows all that is decided at that pace.
 * It does not apply to an object that a step of the segment deletes: an engine may see its children go before it sees that the
 * object itself is being deleted, and then it writes a status about that.
 */
export function compareHistories(references: readonly ScenarioHistory[], seen: ScenarioHistory): string[] {
  const steps = ({ segments }: ScenarioHistory) => canonicalJson(segments.map(({ steps }) => steps));
  if (references.length === 0) throw new RangeError("Cannot compare a history: there are no references");
  if (references.some((reference) => steps(reference) !== steps(seen))) return ["the steps are not the same"];
  return seen.segments.flatMap((segment, index) => {
    const wanted = references.flatMap(({ segments }) => segments[index] ?? []);
    const found = [
      ...wanted.flatMap(({ named }) => differences(named, segment.named)),
      ...wanted.flatMap(({ others }) => differences(others, segment.others).map((text) => `other ${text}`)),
      ...passingDifferences(wanted, segment),
    ];
    return [...new Set(found)].map((text) => `after ${segment.steps.join(", ")}: ${text}`);
  });
}

/** Paces of Pods for references: from the creation to the address, from there to Ready; milliseconds. */
export const PACES = [
  { startMs: 20, readyMs: 10 },
  { startMs: 300, readyMs: 300 },
  { startMs: 2500, readyMs: 1500 },
] as const;

function differences(reference: Record<string, unknown>, seen: Record<string, unknown>): string[] {
  const keys = [...new Set([...Object.keys(reference), ...Object.keys(seen)])].sort();
  const text = (value: unknown) => value === undefined ? "nothing" : canonicalJson(value);
  return keys.filter((key) => text(reference[key]) !== text(seen[key]))
    .map((key) => `${key} is ${text(seen[key])}, not ${text(reference[key])}`);
}

function passingDifferences(references: readonly Segment[], seen: Segment): string[] {
  return Object.entries(seen.passing).flatMap(([key, tracks]) => {
    if (seen.steps.includes(`delete ${key}`)) return [];
    return Object.entries(tracks).flatMap(([type, track]) => {
      const whole = references.map(({ passing }) => passing[key]?.[type] ?? []);
      if (whole.some((one) => isSubsequence(track, one))) return [];
      const known = [...new Set(whole.map((one) => one.join(", ") || "never there"))];
      return [`${key} was ${type} ${track.join(", ")} in passing, not ${known.join("; nor ")}`];
    });
  });
}

/** Whether `part` is `whole` without some of its elements. */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const element of whole) if (element === part[at]) at++;
  return at === part.length;
}
