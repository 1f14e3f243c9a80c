/** Derives the lifecycle events of Sandboxes from what the watch shows. @module */
import { lifetimeOf } from "../api/expiry.ts";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { controllerOf, type ObjectMeta } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { traceContextOf } from "../api/tracecontext.ts";
import type { EventHandler } from "../kube/watch.ts";
import { timeOf, viewSandbox } from "../summary/views.ts";

/** All lifecycle events. */
export const LIFECYCLE = [
  "created",
  "bound",
  "ready",
  "unready",
  "suspended",
  "resumed",
  "finished",
  "expired",
  "deleted",
] as const;

/** Identifies a Sandbox and its claim. */
interface Identity {
  namespace: string;
  name: string;
  uid: string;
  claim: { name: string; uid: string } | undefined;
  /** W3C traceparent of the request that created it; undefined: its client does not trace. */
  traceparent: string | undefined;
}

/** One event in the life of a Sandbox. */
export interface LifecycleEvent {
  what: (typeof LIFECYCLE)[number];
  sandbox: Identity;
  /** Distinguishes this event from others of the same type and Sandbox. Every process derives the same key at any time. */
  key: string;
  /** In milliseconds since the epoch. */
  at: number;
  /** Reason of the condition that shows the event. */
  reason?: string | undefined;
  message?: string | undefined;
}

/** What is remembered of a Sandbox. */
interface Seen {
  sandbox: Identity;
  phase: Phase["is"];
  createdAt: number;
  /** When its deletion was requested, in milliseconds since the epoch. */
  deletedAt: number | undefined;
}

/** The state of a Sandbox, as far as events depend on it. */
interface Phase {
  is: "starting" | "ready" | "suspended" | "finished" | "expired";
  /** The condition that shows the phase. */
  condition: Condition | undefined;
  /** The earliest time at which the phase can have begun, in milliseconds since the epoch. */
  since: number;
}

/**
 * Returns the phase of a Sandbox. The first row that applies decides.
 *
 * | Sandbox | phase |
 * |---|---|
 * | Ready has the reason SandboxExpired | expired |
 * | Finished is True | finished |
 * | Suspended is True | suspended |
 * | Ready is True | ready |
 * | none of these | starting |
 */
function phaseOf(sandbox: Sandbox): Phase {
  const { conditions } = sandbox.status ?? {};
  const [ready, finished, suspended] = ["Ready", "Finished", "Suspended"].map((type) =>
    findCondition(conditions, type)
  );
  const phase = (is: Phase["is"], condition: Condition | undefined): Phase => {
    return { is, condition, since: timeOf(condition?.lastTransitionTime) ?? -Infinity };
  };
  if (ready?.reason === "SandboxExpired") {
    const expired = phase("expired", ready);
    // If the Sandbox was not Ready before, its expiry does not change the time of the condition.
    return { ...expired, since: Math.max(expired.since, timeOf(lifetimeOf(sandbox).shutdownTime) ?? -Infinity) };
  }
  if (finished?.status === "True") return phase("finished", finished);
  if (suspended?.status === "True") return phase("suspended", suspended);
  return ready?.status === "True" ? phase("ready", ready) : phase("starting", ready);
}

/**
 * Returns what has happened to a Sandbox since it was last seen.
 *
 * | Sandbox | before | event |
 * |---|---|---|
 * | exists | not seen | created |
 * | has a claim | had another claim, or none | bound |
 * | is not suspended | suspended | resumed |
 * | is starting | ready | unready |
 * | is ready, suspended, finished or expired | in another phase | the name of the phase |
 *
 * @param before undefined: the Sandbox has not been seen
 */
function eventsOf(
  sandbox: Sandbox,
  before: Seen | undefined,
  now: number,
): { seen: Seen; events: LifecycleEvent[] } {
  const identity = identityOf(sandbox);
  const createdAt = timeOf(sandbox.metadata.creationTimestamp) ?? now;
  const phase = phaseOf(sandbox);
  const { condition } = phase;
  // Every user who can write the Sandbox can also write some of these times.
  const when = (at: number) => within(createdAt, at, now);
  const turned = (what: LifecycleEvent["what"], by: Condition | undefined, since: number): LifecycleEvent => {
    const { reason, message, lastTransitionTime: key = "" } = by ?? {};
    return { what, sandbox: identity, key, at: when(since), reason, message };
  };
  const events: LifecycleEvent[] = [];
  if (!before) events.push({ what: "created", sandbox: identity, key: "", at: when(createdAt) });
  const { claim } = identity;
  if (claim && claim.uid !== before?.sandbox.claim?.uid) {
    const at = when(viewSandbox(sandbox)?.assignedAt ?? createdAt);
    events.push({ what: "bound", sandbox: identity, key: claim.uid, at });
  }
  if (before?.phase === "suspended" && phase.is !== "suspended") {
    const by = findCondition(sandbox.status?.conditions, "Suspended") ?? condition;
    events.push(turned("resumed", by, timeOf(by?.lastTransitionTime) ?? now));
  }
  if (phase.is !== (before?.phase ?? "starting")) {
    if (phase.is !== "starting") events.push(turned(phase.is, condition, phase.since));
    else if (before?.phase === "ready") events.push(turned("unready", condition, phase.since));
  }
  const deletedAt = timeOf(sandbox.metadata.deletionTimestamp);
  return { seen: { sandbox: identity, phase: phase.is, createdAt, deletedAt }, events };
}

function identityOf({ metadata }: { metadata: ObjectMeta }): Identity {
  const { namespace = "", name, uid = "" } = metadata;
  const owner = controllerOf(metadata);
  const trace = traceContextOf(metadata);
  return {
    ...{ namespace, name, uid },
    claim: owner?.kind === "SandboxClaim" && isPossible(owner) ? { name: owner.name, uid: owner.uid } : undefined,
    traceparent: trace && `00-${trace.traceId}-${trace.spanId}-${trace.isSampled ? "01" : "00"}`,
  };
}

/** Limits a time to the range between the first and the last. */
function within(first: number, at: number, last: number): number {
  return Math.min(Math.max(at, first), last);
}

/** Returns whether such a claim can exist: API servers accept any text of any length as the name and UID of an owner. */
function isPossible({ name, uid }: { name: string; uid: string }): boolean {
  return /^[a-z0-9.-]{1,253}$/.test(name) && /^[\w-]{1,64}$/.test(uid);
}

/** A new leader repeats events of this period, because the previous leader may not have sent them. */
const REPEATED_MS = 10 * 60_000;

/** Creates the event handler that derives the events of Sandboxes. The events of one Sandbox are passed in order. */
export function createLifecycle(tell: (event: LifecycleEvent) => void): EventHandler<Sandbox> {
  const all = new Map<string, Seen>();
  let isListed = false;
  const gone = (uid: string) => {
    const seen = all.get(uid);
    if (!seen) return;
    all.delete(uid);
    const now = Date.now();
    const at = within(seen.createdAt, seen.deletedAt ?? now, now);
    tell({ what: "deleted", sandbox: seen.sandbox, key: "", at });
  };
  return {
    observe(sandbox) {
      const now = Date.now();
      const { uid = "" } = sandbox.metadata;
      const { seen, events } = eventsOf(sandbox, all.get(uid), now);
      all.set(uid, seen);
      for (const event of events) if (isListed || now - event.at < REPEATED_MS) tell(event);
    },
    gone,
    listed() {
      isListed = true;
    },
  };
}
