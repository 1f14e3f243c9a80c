/** Counts the decisions that differ, and groups equal ones, so that memory does not grow with the recording. @module */
import type { RecordedExchange } from "../../webhook/exchange.ts";
import type { Change } from "./compare.ts";

/** Decisions that differ in the same way, with the first one as an example. */
export interface DifferenceKind {
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
export interface Tally {
  add(exchange: RecordedExchange, place: string, changes: Change[]): void;
  skip(hook: string): void;
  summary(): ReplaySummary;
}

type Counted = DifferenceKind & { uids: Set<string> };

/** Creates an empty tally. */
export function createTally(): Tally {
  const summary: Omit<ReplaySummary, "kinds"> = { requests: {}, differing: 0, skipped: {} };
  const kinds = new Map<string, Counted>();

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
