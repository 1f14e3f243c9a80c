/** Whether two runs of a scenario had the same history, and where not. Pure. @module */
import { canonicalJson } from "../../lib/apply.ts";
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
 * Lists how `seen` differs from `reference`; empty: they are the same history.
 *
 * | compared | same means |
 * |---|---|
 * | steps | the same, in the same order |
 * | objects that the scenario names, at rest after each segment | the same digests: conditions with status and reason, mode, counts, owner, whether there is an address |
 * | all other objects, at rest | as many of each kind and digest, whatever they are called |
 * | conditions of named objects within a segment | `seen` shows nothing that `reference` does not show, in its order; it may skip what lay between its first and its last |
 *
 * The last rule is for API servers: an engine that syncs twice in a row may never write what the first sync decided. The
 * reference is therefore the run in memory, where every change is synced by itself before the next one comes.
 */
export function compareHistories(reference: ScenarioHistory, seen: ScenarioHistory): string[] {
  const steps = (history: ScenarioHistory) => history.segments.map(({ steps }) => steps);
  if (canonicalJson(steps(reference)) !== canonicalJson(steps(seen))) return ["the steps are not the same"];
  return reference.segments.flatMap((segment, index) => {
    const other = seen.segments[index] ?? segment;
    const at = `after ${segment.steps.join(", ")}`;
    return [
      ...differences(segment.named, other.named).map((text) => `${at}: ${text}`),
      ...differences(segment.others, other.others).map((text) => `${at}: other ${text}`),
      ...passingDifferences(segment, other).map((text) => `${at}: ${text}`),
    ];
  });
}

function differences(reference: Record<string, unknown>, seen: Record<string, unknown>): string[] {
  const keys = [...new Set([...Object.keys(reference), ...Object.keys(seen)])].sort();
  const text = (value: unknown) => value === undefined ? "nothing" : canonicalJson(value);
  return keys.filter((key) => text(reference[key]) !== text(seen[key]))
    .map((key) => `${key} is ${text(seen[key])}, not ${text(reference[key])}`);
}

function passingDifferences(reference: Segment, seen: Segment): string[] {
  return Object.entries(seen.passing).flatMap(([key, tracks]) =>
    Object.entries(tracks).flatMap(([type, track]) => {
      const whole = reference.passing[key]?.[type] ?? [];
      if (isSubsequence(track, whole)) return [];
      return [`${key} was ${type} ${track.join(", ")} in passing, not ${whole.join(", ")}`];
    })
  );
}

/** Whether `part` is `whole` without some of its elements. */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const element of whole) if (element === part[at]) at++;
  return at === part.length;
}
