/** Counts the decisions that differ, equal ones together: what is kept does not grow with the recording. @module */
import type { RecordedExchange } from "../../webhook/exchange.ts";
import type { Change } from "./compare.ts";

/** Decisions that differ in the same way, with the first of them. */
export interface DifferenceKind {
  hook: string;
  endpoint: "sync" | "customize";
  decisions: number;
  /** How many parents they are about. */
  objects: number;
  example: {
    object: { kind: string; namespace: string; name: string };
    /** Of the request, RFC 3339. */
    at: string;
    /** File and line. */
    place: string;
    /** Changes that are alike but for their values or their child are one. */
    changes: (Change & { alike: number })[];
  };
}

/** What a replay has come to. */
export interface ReplaySummary {
  /** Requests that were replayed, by hook. */
  requests: Record<string, number>;
  /** Time of the first and of the last of them, RFC 3339; absent: there was none. */
  from?: string;
  to?: string;
  /** Decisions that differ. */
  differing: number;
  /** Requests of hooks that were not replayed, by hook. */
  skipped: Record<string, number>;
  /** What deletes or fails first, then the most frequent. */
  kinds: DifferenceKind[];
}

/** What the counting goes into. */
export interface Tally {
  add(exchange: RecordedExchange, place: string, changes: Change[]): void;
  skip(hook: string): void;
  summary(): ReplaySummary;
}

type Counted = DifferenceKind & { uids: Set<string> };

/** Makes an empty one. */
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

/** Puts together changes that are alike, in the order of the first of each. */
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

/** Reasons, phases and truths say what kind of difference it is; names, numbers, times and hashes differ each time. */
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
