/**
 * Creates a Pod that disappears again and again less and less often. Otherwise the hook and what deletes the Pod, a
 * descheduler or a policy, would take turns sixteen times a second. A hook has no memory: the condition PodLost holds how
 * often the Pod has disappeared, and when the last one was created. An annotation of the new Pod holds the same, because
 * the hook may see the Pod before it sees the condition.
 * @module
 */
import type { PodLostReason } from "../../packages/api/sandbox.ts";
import { findCondition, type Verdict } from "../../packages/api/objects/conditions.ts";
import { POD_LOSSES_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { isPodReady } from "../../packages/api/objects/pods.ts";
import type { View } from "./view.ts";

/** What is said of a Pod that has disappeared, and whether the next one has to wait. */
export interface PodLosses {
  /** Undefined: none has disappeared of late. */
  verdict: Verdict<"PodLost", PodLostReason> | undefined;
  /** No Pod is created now. */
  isHeld: boolean;
  /** The annotation of a Pod that is created now; undefined: it has none. */
  annotation?: string | undefined;
  /** When to look again without an event, in seconds; undefined: never. */
  againSeconds: number | undefined;
}

const NONE: PodLosses = { verdict: undefined, isHeld: false, againSeconds: undefined };
/** A Pod that has lasted as long is not one that disappears. One that is Ready need only have lasted for twice the last wait. */
const LASTS_MS = 60_000;
/** The second is made at once but for what caches need to show the first. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 300_000;
/** From when "Pod does not exist" counts as a Pod that was made and is gone; times are whole seconds. */
const MADE_MS = 2000;

/**
 * Decides for a Sandbox that wants a Pod.
 *
 * | Pod | condition, or annotation of the Pod | answer |
 * |---|---|---|
 * | there | none | nothing |
 * | there, young | there | as it is: the next loss counts on |
 * | Ready and there for twice the last wait, or there for a minute and as long | there | nothing |
 * | none | none, and none was seen | it is made |
 * | none | none, and one was seen, or asked for two seconds ago | it is made, and counted |
 * | none | there, and its wait is not over | none is made |
 * | none | there, and its wait is over | it is made, and counted |
 */
export function podLosses(view: View, now: Date): PodLosses {
  const { sandbox, pod, pods } = view;
  if (sandbox.spec.operatingMode !== "Running" || pods.length > 1) return NONE;
  // What the API server refuses did not disappear.
  if (view.problems.some(({ kind }) => kind === "Pod")) return NONE;
  const before = read(view);
  const time = now.getTime();
  if (pod) {
    if (!before) return NONE;
    // From when it was made, to the millisecond: creation times are whole seconds.
    const lasts = Math.max(isPodReady(pod) ? 0 : LASTS_MS, 2 * waitMs(before.count));
    const left = Math.max(before.at, Date.parse(pod.metadata.creationTimestamp ?? "")) + lasts - time;
    return left > 0 ? { verdict: verdictOf(before), isHeld: false, againSeconds: left / 1000 } : NONE;
  }
  if (!before) return wasThere(view, time) ? made({ count: 1, at: time }) : NONE;
  const left = before.at + waitMs(before.count) - time;
  // Another clock has written what lies far ahead.
  if (left <= 0 || left > LONGEST_WAIT_MS) return made({ count: before.count + 1, at: time });
  return { verdict: verdictOf(before), isHeld: true, againSeconds: left / 1000 };
}

/** `at`: when the last one was made, in milliseconds since the epoch. */
interface Losses {
  count: number;
  at: number;
}

function made({ count, at }: Losses): PodLosses {
  const annotation = `${count} ${new Date(at).toISOString()}`;
  return { verdict: verdictOf({ count, at }), isHeld: false, annotation, againSeconds: undefined };
}

/** A status that is about a Pod, or one that asked for it a while ago. */
function wasThere({ sandbox: { status } }: View, now: number): boolean {
  const conditions = status?.conditions;
  const ready = findCondition(conditions, "Ready");
  if (findCondition(conditions, "PodScheduled") || (status?.podIPs ?? []).length > 0) return true;
  return ready?.reason === "DependenciesNotReady" && ready.message.startsWith("Pod does not exist") &&
    now - Date.parse(ready.lastTransitionTime) >= MADE_MS;
}

/** 250 ms after the first, then 1, 2, 4 … 300 s. */
function waitMs(count: number): number {
  return count < 2 ? FIRST_WAIT_MS : Math.min(1000 * 2 ** (count - 2), LONGEST_WAIT_MS);
}

function verdictOf({ count, at }: Losses): Verdict<"PodLost", PodLostReason> {
  const times = count === 1 ? "once" : `${count} times`;
  const message = `Pod has disappeared ${times}, and was made again at ${new Date(at).toISOString()}. ` +
    `If that one disappears, too, the next is made ${
      waitMs(count) / 1000
    } s later at the soonest: find out what deletes it`;
  return { type: "PodLost", status: "True", reason: "PodDeleted", message };
}

const SAID = /^Pod has disappeared (?:once|(\d{1,9}) times), and was made again at (\S+)\. /;

/** Matches {@link POD_LOSSES_ANNOTATION}. */
const NOTED = /^(\d{1,9}) (\S+)$/;

/** Reads the condition and the annotation of the Pod; the later one counts. */
function read({ sandbox, pod }: View): Losses | undefined {
  const said = findCondition(sandbox.status?.conditions, "PodLost")?.message.match(SAID);
  const noted = pod?.metadata.annotations?.[POD_LOSSES_ANNOTATION]?.match(NOTED);
  const found = [said, noted].flatMap((match) => {
    const [, count = "1", at = ""] = match ?? [];
    return Number.isNaN(Date.parse(at)) ? [] : [{ count: Number(count), at: Date.parse(at) }];
  });
  return found.toSorted((a, b) => b.at - a.at)[0];
}
