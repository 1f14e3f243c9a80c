/** Counts the decisions of a replay that differ, groups equal ones, and formats them for a review. @module */
import type { RecordedExchange } from "../../webhook/exchange.ts";
import type { Change } from "./compare.ts";

/** Decisions that differ in the same way, with the first one as an example. */
interface DifferenceKind {
  hook: string;
  endpoint: "sync" | "customize";
  decisions: number;
  /** Number of parents that are affected. */
  objects: number;
  example: {
    object: { kind: string; namespace: string; name: string };
    /** Time of the request, RFC 3339. */
    at: string;
    /** File and line. */
    place: string;
    /** Changes that differ only in their values or their child are grouped. */
    changes: (Change & { alike: number })[];
  };
}

/** The result of a replay. */
export interface ReplaySummary {
  /** Number of replayed requests by hook. */
  requests: Record<string, number>;
  /** Times of the first and the last request, RFC 3339; absent if there was none. */
  from?: string;
  to?: string;
  /** Number of decisions that differ. */
  differing: number;
  /** Number of requests that were not replayed, by hook. */
  skipped: Record<string, number>;
  /** First kinds that delete or fail, then the most frequent ones. */
  kinds: DifferenceKind[];
}

/** Collects the counts. */
interface Tally {
  add(exchange: RecordedExchange, place: string, changes: Change[]): void;
  skip(hook: string): void;
  summary(): ReplaySummary;
}

type CountedKind = DifferenceKind & { uids: Set<string> };

/** Creates an empty tally. */
export function createTally(): Tally {
  const summary: Omit<ReplaySummary, "kinds"> = { requests: {}, differing: 0, skipped: {} };
  const kinds = new Map<string, CountedKind>();

  function count(exchange: RecordedExchange, place: string, changes: Change[]): void {
    const { hook, endpoint, at } = exchange;
    const alike = alikeChanges(changes);
    const key = JSON.stringify([hook, endpoint, [...alike.keys()].sort()]);
    const { uid, ...object } = parentOf(exchange.request);
    const example = { object, at, place, changes: [...alike.values()] };
    const kind = kinds.get(key) ?? { hook, endpoint, decisions: 0, objects: 0, example, uids: new Set() };
    kinds.set(key, kind);
    kind.decisions++;
    kind.uids.add(uid);
    kind.objects = kind.uids.size;
  }

  return {
    add(exchange, place, changes) {
      const { hook, at } = exchange;
      summary.requests[hook] = (summary.requests[hook] ?? 0) + 1;
      if (summary.from === undefined || at < summary.from) summary.from = at;
      if (summary.to === undefined || at > summary.to) summary.to = at;
      if (changes.length === 0) return;
      summary.differing++;
      count(exchange, place, changes);
    },
    skip: (hook) => void (summary.skipped[hook] = (summary.skipped[hook] ?? 0) + 1),
    summary: () => ({
      ...summary,
      kinds: [...kinds.values()].map(({ uids: _, ...kind }) => kind).sort(byWeight),
    }),
  };
}

/** Groups similar changes, in the order of the first one of each group. */
function alikeChanges(changes: Change[]): Map<string, Change & { alike: number }> {
  const alike = new Map<string, Change & { alike: number }>();
  for (const change of changes) {
    const key = JSON.stringify([
      change.effect,
      change.child?.kind,
      change.path,
      wordOf(change.before),
      wordOf(change.after),
    ]);
    const same = alike.get(key);
    if (same) same.alike++;
    else alike.set(key, { ...change, alike: 1 });
  }
  return alike;
}

/**
 * Reduces a value to what makes a kind of difference: reasons, phases and booleans stay. Names, numbers, times and
 * hashes differ each time, so only their type counts.
 */
function wordOf(value: unknown): string {
  if (typeof value === "boolean" || value === null || value === undefined) return String(value);
  if (typeof value === "string" && /^([A-Z][A-Za-z]{1,40}|[1-5]\d\d( .*)?)$/.test(value)) return value;
  return typeof value;
}

function parentOf(request: unknown): { kind: string; namespace: string; name: string; uid: string } {
  const { parent, object } = request as Record<
    string,
    { kind?: string; metadata?: Record<string, string> } | undefined
  >;
  const { kind = "", metadata: { namespace = "", name = "", uid = `${namespace}/${name}` } = {} } = parent ?? object ??
    {};
  return { kind, namespace, name, uid };
}

function byWeight(a: DifferenceKind, b: DifferenceKind): number {
  return weightOf(b) - weightOf(a) || b.decisions - a.decisions;
}

function weightOf({ example: { changes } }: DifferenceKind): number {
  if (changes.some(({ effect }) => effect === "deletes")) return 2;
  return changes.some(({ effect }) => effect === "answers") ? 1 : 0;
}

/** Largest number of characters of a value that are shown. */
const VALUE_LENGTH = 72;

/**
 * Formats the summary as lines; the last one has a line end, too.
 *
 * @param mostKinds largest number of kinds of difference that are shown
 */
export function renderReplay(summary: ReplaySummary, mostKinds: number): string {
  const { kinds, skipped } = summary;
  const lines = [headline(summary)];
  const others = Object.keys(skipped).sort();
  if (others.length > 0) lines.push(`${requests(sum(Object.values(skipped)))} of ${others.join(", ")} not replayed`);
  kinds.slice(0, mostKinds).forEach((kind, index) => lines.push("", ...linesOf(kind, index + 1)));
  if (kinds.length > mostKinds) lines.push("", `${kinds.length - mostKinds} more kinds of difference are not shown`);
  return `${lines.join("\n")}\n`;
}

function headline({ requests: byHook, from = "", to = "", differing }: ReplaySummary): string {
  const all = sum(Object.values(byHook));
  const verdict = differing === 0 ? "no decision differs" : decisions(differing);
  const span = from === "" ? "" : ` (${secondsOf(from)} to ${secondsOf(to)})`;
  return `${requests(all)}, ${verdict}${span}`;
}

function secondsOf(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

function linesOf({ hook, endpoint, decisions, objects, example }: DifferenceKind, number: number): string[] {
  const { object: { kind, namespace, name }, at, place, changes } = example;
  const times = decisions === 1
    ? "once"
    : `${grouped(decisions)} times${objects === 1 ? "" : ` on ${grouped(objects)} objects`}`;
  return [
    `${number}. ${hook} ${endpoint}, ${times}; ${
      decisions === 1 ? "" : "first "
    }${kind} ${namespace}/${name}, ${at}, ${place}`,
    ...changes.map((change) =>
      `   ${lineOf(change)}${change.alike > 1 ? ` (and ${change.alike - 1} more alike)` : ""}`
    ),
  ];
}

function lineOf({ effect, child, path, before, after }: Change): string {
  const subject = child ? `${child.kind}/${child.name}` : "";
  const values = `${shortJson(before)} -> ${shortJson(after)}`;
  switch (effect) {
    case "answers":
      return `status ${before} -> ${after}`;
    case "deletes":
      return `- ${subject}: is deleted, was wanted`;
    case "keeps":
      return `+ ${subject}: is kept, was deleted`;
    case "creates":
      return `+ ${subject}: is created, was not wanted`;
    case "omits":
      return `- ${subject}: is not created, was wanted`;
    case "changes":
      return `~ ${subject === "" ? "" : `${subject} `}${path}: ${values}`;
  }
}

function shortJson(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length <= VALUE_LENGTH ? text : `${text.slice(0, VALUE_LENGTH)}…`;
}

function decisions(count: number): string {
  return count === 1 ? "1 decision differs" : `${grouped(count)} decisions differ`;
}

function requests(count: number): string {
  return `${grouped(count)} ${count === 1 ? "request" : "requests"}`;
}

function sum(counts: number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
