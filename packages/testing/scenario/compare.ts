/** Reduces objects to what hooks have decided, compares the histories of two runs of a scenario, and lists the differences. Pure. @module */
import { canonicalJson } from "../../api/objects/apply.ts";
import type { Condition } from "../../api/objects/conditions.ts";
import { controllerOf, groupOf, type KubeObject } from "../../api/objects/objects.ts";
import type { Kind } from "./format.ts";
import type { Passing } from "./recorder.ts";

/** Some steps of a scenario, the last of which waited, and their effect. */
export interface Segment {
  /** Titles of the steps, such as `patch Sandbox/box`. */
  steps: string[];
  /** Objects that the scenario names, by `<kind>/<name>`, at rest after the steps. Deleted objects are missing. */
  named: Record<string, Digest>;
  /** All other objects at rest, by kind: the number of objects with each digest, as JSON. */
  others: Partial<Record<Kind, Record<string, number>>>;
  /**
   * Conditions of named objects of hookbox's kinds, from the end of the last segment to the end of this one, inclusive.
   */
  passing: Record<string, Passing>;
}

/** What happened in a run of a scenario, in order. */
export interface ScenarioHistory {
  segments: Segment[];
}

/** An object at rest, in a form that is the same on every cluster. Absent fields: the object does not have them. */
export interface Digest {
  /** `<status> <reason>` by type. */
  conditions?: Record<string, string>;
  /** Kind of the controlling owner. */
  owner?: string;
  operatingMode?: string;
  isBeingDeleted?: true;
  /** Whole numbers of the status, such as readyReplicas. */
  counts?: Record<string, number>;
  /** Whether the status of a claim has a Sandbox, and whether the Sandbox has an address. */
  sandbox?: "given" | "given, with address";
  /** Names that users depend on. */
  service?: string;
  hasAddress?: boolean;
  phase?: string;
}

/** Paces of Pods for references: from creation to address, and from address to Ready, in milliseconds. */
export const PACES = [
  { startMs: 20, readyMs: 10 },
  { startMs: 300, readyMs: 300 },
  { startMs: 2500, readyMs: 1500 },
] as const;

/** Numbers that depend on how often, or when, something was written. */
const NO_COUNTS = ["observedGeneration", "sequence", "arrivedSequence", "observedSequence"];

/**
 * Lists the differences between `seen` and the references; empty: the history is the same.
 *
 * | compared | the same if |
 * |---|---|
 * | steps | they are the same, in the same order |
 * | objects that the scenario names, at rest after each segment | all references have the same digests: conditions with status and reason, mode, counts, owner, whether there is an address |
 * | all other objects, at rest | there are as many of each kind and digest, whatever their names |
 * | a condition of a named object within a segment | one of the references has all states of `seen`, in the same order; `seen` may lack states before its last |
 *
 * The last rule is for real API servers. There, Metacontroller may sync twice in a row, so that the decision of the
 * first sync is never written. And a state that lasts a second or two is visible or not, depending on how fast Pods
 * start. The references are therefore runs in memory at several paces of Pods ({@link PACES}): each shows all decisions
 * at this pace. The rule does not apply to an object that a step of the segment deletes: Metacontroller may see that
 * its children are gone before it sees the deletion of the object, and then it writes a status about that.
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

/** Tells whether `part` is `whole` without some of its elements. */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const element of whole) if (element === part[at]) at++;
  return at === part.length;
}

/** Returns the digest of an object. */
export function digestOf(object: KubeObject): Digest {
  const status = (object["status"] ?? {}) as Status;
  const { operatingMode } = (object["spec"] ?? {}) as { operatingMode?: string };
  const owner = controllerOf(object.metadata)?.kind;
  const { phase, service, sandbox } = status;
  return {
    ...(owner && { owner }),
    ...(operatingMode && { operatingMode }),
    ...(object.metadata.deletionTimestamp && { isBeingDeleted: true as const }),
    ...conditionsIn(object),
    ...(isOurs(object.apiVersion) && countsIn(status)),
    ...(sandbox?.name && { sandbox: sandbox.podIPs?.length ? "given, with address" as const : "given" as const }),
    ...(service && { service }),
    ...(phase && { phase }),
    ...(status.podIPs && { hasAddress: status.podIPs.length > 0 }),
  };
}

/**
 * Returns `<status> <reason>` for each condition by type; none for objects that are not of hookbox's kinds, whose
 * conditions others set.
 */
export function conditionStates({ apiVersion, status }: KubeObject): Record<string, string> {
  const { conditions = [] } = isOurs(apiVersion) ? (status ?? {}) as Status : {};
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]).sort());
}

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

interface Status {
  conditions?: Condition[];
  sandbox?: { name?: string; podIPs?: string[] };
  service?: string;
  podIPs?: string[] | { ip: string }[];
  phase?: string;
}

function conditionsIn(object: KubeObject): Pick<Digest, "conditions"> {
  const conditions = conditionStates(object);
  return Object.keys(conditions).length > 0 ? { conditions } : {};
}

function isOurs(apiVersion: string): boolean {
  return groupOf(apiVersion).endsWith("agents.x-k8s.io");
}

function countsIn(status: object): Pick<Digest, "counts"> {
  const counts = Object.entries(status).filter(([key, value]) => typeof value === "number" && !NO_COUNTS.includes(key));
  return counts.length > 0 ? { counts: Object.fromEntries(counts.sort()) as Record<string, number> } : {};
}
