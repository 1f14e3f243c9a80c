/** Tells since when a sandbox is unused, from this router's traffic and the annotations of other routers. @module */
import { findCondition } from "../../api/objects/conditions.ts";
import type { Target } from "../destination.ts";
import type { SandboxRecord } from "../index/records.ts";
import type { SandboxEntry } from "../index/sandboxindex.ts";
import { ACTIVE_ANNOTATION, WOKEN_AT_ANNOTATION } from "../../api/router/protocol.ts";
import type { IdlePolicy } from "./decision.ts";

/** Traffic of one sandbox through this router. */
export interface SandboxTraffic {
  open: number;
  /** When a request last began or ended, in milliseconds of the monotonic clock. */
  lastAt: number;
}

export interface Traffic {
  begun(target: Target): void;
  ended(target: Target): void;
  /** The traffic of a sandbox; undefined: there was none through this router. */
  useOf(namespace: string, name: string): SandboxTraffic | undefined;
  /** Removes the records of sandboxes for which `isKnown` is false and which have no open requests. */
  prune(isKnown: (namespace: string, name: string) => boolean): void;
}

interface TrafficEntry extends SandboxTraffic {
  namespace: string;
  name: string;
  toldAt: number;
}

/** Least time between two calls of `onUse` for a sandbox, in milliseconds. */
const LEAST_INTERVAL_MS = 1000;

/**
 * Creates the record of traffic.
 *
 * @param now in milliseconds of a monotonic clock
 * @param onUse called when a sandbox is used, at most every {@link LEAST_INTERVAL_MS}
 */
export function createTraffic(now: () => number, onUse: (namespace: string, name: string) => void): Traffic {
  const entries = new Map<string, TrafficEntry>();
  const entryOf = ({ namespace, name }: Target): TrafficEntry => {
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
      if (entry.lastAt - entry.toldAt < LEAST_INTERVAL_MS) return;
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

/**
 * A router updates the annotation once in this fraction of the idle time. Later traffic is unknown to other routers.
 */
const UPDATES_PER_IDLE_TIME = 3;

/** Returns how long a router may wait until it records traffic in the annotation, in milliseconds. */
export function activityIntervalMs({ idleSeconds }: IdlePolicy): number {
  return idleSeconds * 1000 / UPDATES_PER_IDLE_TIME;
}

/** Returns when a router last set the activity annotation, and which. Times in milliseconds since the epoch. */
export function recordedActivity({ annotations }: SandboxRecord): { at: number; router: string } {
  const [time = "", router = ""] = (annotations[ACTIVE_ANNOTATION] ?? "").split(" ");
  return { at: Date.parse(time) || 0, router };
}

/**
 * Returns the latest instant at which the sandbox may have been used, in milliseconds since the epoch; `Infinity` if
 * that cannot be known.
 *
 * | observation | instant |
 * |---|---|
 * | traffic through this router | the time of the traffic |
 * | annotation of another router | its time, plus the time until that router updates the annotation again |
 * | it became Ready, was woken, or was assigned to a claim | the time of this event |
 * | it is not Ready | unknown: its last change may be long ago, and its Pod may just have started |
 *
 * An annotation or condition counts from when this router saw it change, by the monotonic clock. If it has not changed
 * since the start of this router, it counts from the time that it states, but never from the future. Routers write
 * these times by the API server's clock, so all of them decide alike, even if their own wall clocks are wrong.
 */
export function lastUse(
  { sandbox, useChangedAt }: Pick<SandboxEntry, "sandbox" | "useChangedAt">,
  policy: IdlePolicy,
  use: SandboxTraffic | undefined,
  clock: IdleClock,
): number {
  const ready = findCondition(sandbox.conditions, "Ready");
  if (ready?.status !== "True") return Infinity;
  const { assignedAt, annotations } = sandbox;
  const stated = [ready.lastTransitionTime, annotations[WOKEN_AT_ANNOTATION]].map(instantOf);
  return latestOf(sandbox, policy, use, clock, useChangedAt, [...stated, assignedAt ?? 0]);
}

/**
 * Returns the latest instant at which somebody outside may have requested the sandbox; `Infinity` if that cannot be
 * known. This includes traffic, and when the sandbox was created, woken, resumed or assigned to a claim. It does not
 * include when the sandbox became Ready: code inside can cause that again and again.
 */
export function lastRequested(
  { sandbox, requestsChangedAt }: Pick<SandboxEntry, "sandbox" | "requestsChangedAt">,
  policy: IdlePolicy,
  use: SandboxTraffic | undefined,
  clock: IdleClock,
): number {
  const { createdAt, assignedAt, annotations, conditions } = sandbox;
  const resumed = findCondition(conditions, "Suspended")?.lastTransitionTime;
  const stated = [resumed, annotations[WOKEN_AT_ANNOTATION]].map(instantOf);
  return latestOf(sandbox, policy, use, clock, requestsChangedAt, [...stated, createdAt ?? 0, assignedAt ?? 0]);
}

/** The router that asks, and the time. */
interface IdleClock {
  me: string;
  /** By the API server's clock, in milliseconds since the epoch. */
  now: number;
  /** The same instant by this process's monotonic clock, which measures use and changes. @default {now} */
  counted?: number;
}

function latestOf(
  sandbox: SandboxRecord,
  policy: IdlePolicy,
  use: SandboxTraffic | undefined,
  { me, now, counted = now }: IdleClock,
  seenAt: number | undefined,
  stated: number[],
): number {
  const recorded = recordedActivity(sandbox);
  // An annotation from before this router's restart counts like another router's: later traffic is forgotten.
  const isOwnRecord = recorded.router === me && use !== undefined;
  const unrecordedMs = isOwnRecord ? 0 : activityIntervalMs(policy);
  const recordedAt = (at: number) => recorded.at === 0 ? 0 : at + unrecordedMs;
  const used = use === undefined ? 0 : now - (counted - use.lastAt);
  if (seenAt !== undefined) {
    const seen = now - (counted - seenAt);
    return Math.max(used, seen, recordedAt(seen));
  }
  const latest = Math.max(used, recordedAt(Math.min(recorded.at, now)), ...stated.map((at) => Math.min(at, now)));
  return latest === 0 ? Infinity : latest;
}

function instantOf(text: string | undefined): number {
  return Date.parse(text ?? "") || 0;
}
