/** Since when nobody has used a sandbox: through this router, and as far as the others tell. Knows no clock. @module */
import { findCondition } from "../../api/objects/conditions.ts";
import type { Target } from "../destination.ts";
import type { SandboxRecord } from "../index/records.ts";
import type { Entry } from "../index/sandboxindex.ts";
import { ACTIVE_ANNOTATION, WOKEN_AT_ANNOTATION } from "../../api/router/annotations.ts";
import type { IdlePolicy } from "./decision.ts";

/** Use of one sandbox. */
export interface Use {
  open: number;
  /** In milliseconds of the monotonic clock. */
  lastAt: number;
}

export interface Traffic {
  begun(target: Target): void;
  ended(target: Target): void;
  /** What is known of a sandbox; undefined: this router has not seen anybody use it. */
  useOf(namespace: string, name: string): Use | undefined;
  /** Forgets those for which `isKnown` is false, and which nobody uses. */
  prune(isKnown: (namespace: string, name: string) => boolean): void;
}

interface UseEntry extends Use {
  namespace: string;
  name: string;
  toldAt: number;
}

/** How often the same sandbox is told of, in milliseconds. */
const TELL_MS = 1000;

/** @param now in milliseconds of a monotonic clock @param onUse called when a sandbox is used, at most every {@link TELL_MS} */
export function createTraffic(now: () => number, onUse: (namespace: string, name: string) => void): Traffic {
  const entries = new Map<string, UseEntry>();
  const entryOf = ({ namespace, name }: Target): UseEntry => {
    const key = `${namespace}/${name}`;
    let entry = entries.get(key);
    if (!entry) entries.set(key, entry = { namespace, name, open: 0, lastAt: 0, toldAt: -Infinity });
    return entry;
  };
  return {
    begun(target) {
      const entry = entryOf(target);
      entry.open++;
      entry.lastAt = now();
      if (entry.lastAt - entry.toldAt < TELL_MS) return;
      entry.toldAt = entry.lastAt;
      onUse(entry.namespace, entry.name);
    },
    ended(target) {
      const entry = entryOf(target);
      entry.open--;
      entry.lastAt = now();
    },
    useOf: (namespace, name) => entries.get(`${namespace}/${name}`),
    prune(isKnown) {
      for (const [key, { namespace, name, open }] of entries) {
        if (open === 0 && !isKnown(namespace, name)) entries.delete(key);
      }
    },
  };
}

/** Other routers leave word of traffic once in this part of the idle time: what they have seen since is not known. */
const WORD_PART = 3;

/** Tells how long a router may keep traffic to itself, in milliseconds. */
export function wordMs({ idleSeconds }: IdlePolicy): number {
  return idleSeconds * 1000 / WORD_PART;
}

/** When a router last left word, and which. Times in milliseconds since the epoch. */
export function wordOf({ annotations }: SandboxRecord): { at: number; router: string } {
  const [time = "", router = ""] = (annotations[ACTIVE_ANNOTATION] ?? "").split(" ");
  return { at: Date.parse(time) || 0, router };
}

/**
 * Returns the latest instant at which the sandbox may have been used, in milliseconds since the epoch; `Infinity` where
 * there is no telling.
 *
 * | evidence | instant |
 * |---|---|
 * | traffic here | exactly then |
 * | another router's word | then, and as much later as it may keep to itself |
 * | it became Ready, was woken, or was given to a claim | then |
 * | it is not Ready | no telling: its last change may be long past, and its Pod just up |
 *
 * An annotation or condition counts from when this router saw it change, by the monotonic clock. If it has not changed since
 * the start of this router, it counts from the time that it states, but never from the future. Routers write these times by
 * the API server's clock, so all of them decide alike, even if their own wall clocks are wrong.
 */
export function lastUse(
  { sandbox, evidenceSeenAt }: Pick<Entry, "sandbox" | "evidenceSeenAt">,
  policy: IdlePolicy,
  use: Use | undefined,
  clock: Clock,
): number {
  const ready = findCondition(sandbox.conditions, "Ready");
  if (ready?.status !== "True") return Infinity;
  const { assignedAt, annotations } = sandbox;
  const said = [ready.lastTransitionTime, annotations[WOKEN_AT_ANNOTATION]].map(instantOf);
  return latestOf(sandbox, policy, use, clock, evidenceSeenAt, [...said, assignedAt ?? 0]);
}

/**
 * Returns the latest instant at which anybody outside may have asked for the sandbox; `Infinity` where there is no telling.
 * Beside its traffic that is when it was created, woken, resumed or given to a claim, and never when it became Ready: code
 * inside could have it do that again and again.
 */
export function lastAsked(
  { sandbox, askedSeenAt }: Pick<Entry, "sandbox" | "askedSeenAt">,
  policy: IdlePolicy,
  use: Use | undefined,
  clock: Clock,
): number {
  const { createdAt, assignedAt, annotations, conditions } = sandbox;
  const resumed = findCondition(conditions, "Suspended")?.lastTransitionTime;
  const said = [resumed, annotations[WOKEN_AT_ANNOTATION]].map(instantOf);
  return latestOf(sandbox, policy, use, clock, askedSeenAt, [...said, createdAt ?? 0, assignedAt ?? 0]);
}

/** Which router asks, and when. */
interface Clock {
  me: string;
  /** At the API server, in milliseconds since the epoch. */
  now: number;
  /** The same instant by the monotonic clock, by which this process counts use and changes. @default {now} */
  counted?: number;
}

function latestOf(
  sandbox: SandboxRecord,
  policy: IdlePolicy,
  use: Use | undefined,
  { me, now, counted = now }: Clock,
  seenAt: number | undefined,
  said: number[],
): number {
  const word = wordOf(sandbox);
  // Our own word of before a restart is like that of another: what came after it is forgotten.
  const isOurs = word.router === me && use !== undefined;
  const keptMs = isOurs ? 0 : wordMs(policy);
  const wordAt = (at: number) => word.at === 0 ? 0 : at + keptMs;
  const used = use === undefined ? 0 : now - (counted - use.lastAt);
  if (seenAt !== undefined) {
    const seen = now - (counted - seenAt);
    return Math.max(used, seen, wordAt(seen));
  }
  const latest = Math.max(used, wordAt(Math.min(word.at, now)), ...said.map((at) => Math.min(at, now)));
  return latest === 0 ? Infinity : latest;
}

function instantOf(text: string | undefined): number {
  return Date.parse(text ?? "") || 0;
}
