/**
 * If a Pod keeps disappearing, waits longer each time before it creates the next one. Otherwise the hook and a descheduler
 * or policy that deletes the Pod would take turns sixteen times per second. A hook has no memory: the condition PodLost
 * stores how often the Pod has disappeared, and when the last Pod was created. An annotation of the new Pod stores the same,
 * because the hook may see the Pod before it sees the condition.
 * @module
 */
import type { PodLostReason } from "../../packages/api/sandbox.ts";
import { findCondition, type Verdict } from "../../packages/api/objects/conditions.ts";
import { POD_LOSSES_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { isPodReady } from "../../packages/api/objects/pods.ts";
import { hasOtherPod } from "../../packages/api/objects/names.ts";
import { awaitsVolumes } from "./pvcs.ts";
import type { View } from "./view.ts";

/** The condition of a Sandbox whose Pod has disappeared, and whether the next Pod has to wait. */
export interface PodLosses {
  /** Undefined: no Pod has disappeared recently. */
  verdict: Verdict<"PodLost", PodLostReason> | undefined;
  /** The answer must not create a Pod now. */
  isHeld: boolean;
  /** The annotation of a Pod that the answer creates; undefined: it has none. */
  annotation?: string | undefined;
  /** After how many seconds to resync without an event; undefined: never. */
  againSeconds: number | undefined;
}

const NONE: PodLosses = { verdict: undefined, isHeld: false, againSeconds: undefined };
/** A Pod that has lasted this long ends the series of losses. For a Ready Pod, twice the last wait is enough. */
const LASTS_MS = 60_000;
/** The wait after the first loss: only as long as caches need to show the first Pod. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 300_000;
/** After this time, "Pod does not exist" in the status means that a Pod was created and has disappeared. */
const MADE_MS = 2000;

/**
 * Decides for a Sandbox that wants a Pod.
 *
 * | Pod | condition, or annotation of the Pod | answer |
 * |---|---|---|
 * | exists | none | no condition |
 * | exists, young | exists | keeps the condition: the next loss continues the count |
 * | exists for twice the last wait, and is Ready or at least a minute old | exists | removes the condition |
 * | missing | none or exists, and a volume is missing or another Pod may be there | creates no Pod, and removes the condition |
 * | missing | none, and no Pod was seen | creates the Pod |
 * | missing | none, and a Pod was seen, or was asked for two seconds ago | creates the Pod, and counts a loss |
 * | missing | exists, and its wait is not over | creates no Pod |
 * | missing | exists, and its wait is over | creates the Pod, and counts a loss |
 */
export function podLosses(view: View, now: Date): PodLosses {
  const { sandbox, pod, pods } = view;
  if (sandbox.spec.operatingMode !== "Running" || pods.length > 1) return NONE;
  // A Pod that the API server refuses has not disappeared.
  if (view.problems.some(({ kind }) => kind === "Pod")) return NONE;
  // Nor has one that the answer does not create.
  if (!pod && (hasOtherPod(sandbox) || awaitsVolumes(sandbox, view.pvcs))) return NONE;
  const before = read(view);
  const time = now.getTime();
  if (pod) {
    if (!before) return NONE;
    // `before.at` has milliseconds. `creationTimestamp` has only whole seconds.
    const lasts = Math.max(isPodReady(pod) ? 0 : LASTS_MS, 2 * waitMs(before.count));
    const left = Math.max(before.at, Date.parse(pod.metadata.creationTimestamp ?? "")) + lasts - time;
    return left > 0 ? { verdict: verdictOf(before), isHeld: false, againSeconds: left / 1000 } : NONE;
  }
  if (!before) return wasThere(view, time) ? made({ count: 1, at: time }) : NONE;
  const left = before.at + waitMs(before.count) - time;
  // A time that is too far ahead comes from a hook with another clock.
  if (left <= 0 || left > LONGEST_WAIT_MS) return made({ count: before.count + 1, at: time });
  return { verdict: verdictOf(before), isHeld: true, againSeconds: left / 1000 };
}

/** `at`: when the last Pod was created, in milliseconds since the epoch. */
interface Losses {
  count: number;
  at: number;
}

function made({ count, at }: Losses): PodLosses {
  const annotation = `${count} ${new Date(at).toISOString()}`;
  return { verdict: verdictOf({ count, at }), isHeld: false, annotation, againSeconds: undefined };
}

/** Tells whether the status is about a Pod, or has reported for a while that there is none. */
function wasThere({ sandbox: { status } }: View, now: number): boolean {
  const conditions = status?.conditions;
  const ready = findCondition(conditions, "Ready");
  if (findCondition(conditions, "PodScheduled") || (status?.podIPs ?? []).length > 0) return true;
  // While a volume is being deleted, no Pod is created.
  return ready?.reason === "DependenciesNotReady" && /^Pod does not exist(?!.*; PVC ")/.test(ready.message) &&
    now - Date.parse(ready.lastTransitionTime) >= MADE_MS;
}

/** The wait after a loss: 250 ms after the first, then 1, 2, 4 … 300 s. */
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

/** Reads the condition, and the annotation of the Pod. The later time counts. */
function read({ sandbox, pod }: View): Losses | undefined {
  const said = findCondition(sandbox.status?.conditions, "PodLost")?.message.match(SAID);
  const noted = pod?.metadata.annotations?.[POD_LOSSES_ANNOTATION]?.match(NOTED);
  const found = [said, noted].flatMap((match) => {
    const [, count = "1", at = ""] = match ?? [];
    return Number.isNaN(Date.parse(at)) ? [] : [{ count: Number(count), at: Date.parse(at) }];
  });
  return found.toSorted((a, b) => b.at - a.at)[0];
}
