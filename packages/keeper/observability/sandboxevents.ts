/**
 * Records the lifecycle Events of a Sandbox according to its status. Two keepers record the same Event under the same
 * name. Source: Agent Sandbox API 1.0.4.
 * @module
 */
import type { Sandbox } from "../../api/sandbox.ts";
import { lifetimeOf } from "../../api/expiry.ts";
import { findCondition } from "../../api/objects/conditions.ts";
import { isYoung, type Occurrence, regardingOf } from "../../kube/event.ts";
import type { EventHandler } from "../../kube/watch.ts";
import type { RecordEvent } from "./eventrecorder.ts";

const SANDBOX_CONTROLLER = "sandbox-controller";

/** Matches a message of Ready that is about the Pod, whether hookbox or the API server wrote it. */
const ABOUT_POD = /\b[Pp]ods? "/;

type Words = Pick<Occurrence, "type" | "reason" | "action" | "note" | "key" | "at">;

/**
 * Lists the Events that a Sandbox's status shows.
 *
 * | status | Event | identified by |
 * |---|---|---|
 * | PodScheduled exists, so the Pod does | SandboxPodCreated | the time since which the Sandbox runs |
 * | Ready is ReconcilerError or InvalidConfiguration about the Pod, and there is no Pod | SandboxPodCreateFailed | the same |
 * | Ready is True | SandboxReady | when it became True |
 * | Suspended is True | SandboxSuspended | when it became True |
 * | Ready is SandboxExpired, policy Retain | SandboxExpired | the shutdown time |
 * | Finished is True | PodSucceeded, PodFailed | when it became True |
 *
 * An Event is identified by what is in the object, so a second or a restarted keeper makes an Event of the same name. If a
 * running Sandbox loses its Pod and gets another one, it has one SandboxPodCreated, and a SandboxReady for each Pod.
 */
export function sandboxOccurrences(sandbox: Sandbox): Occurrence[] {
  const { conditions } = sandbox.status ?? {};
  const [ready, suspended, finished, scheduled] = ["Ready", "Suspended", "Finished", "PodScheduled"].map((type) =>
    findCondition(conditions, type)
  );
  const found: Words[] = [];
  const add = (reason: string, action: string, note: string, key: string, more: Partial<Words> = {}) => {
    found.push({ type: "Normal", reason, action, note, key, at: Date.parse(key), ...more });
  };
  const runningSince = runningSinceOf(sandbox);
  const isBroken = ready?.reason === "ReconcilerError" || ready?.reason === "InvalidConfiguration";
  if (scheduled) add("SandboxPodCreated", "Creating", `Created Pod "${sandbox.metadata.name}"`, runningSince);
  else if (isBroken && ABOUT_POD.test(ready.message)) {
    add("SandboxPodCreateFailed", "Creating", ready.message, runningSince, { type: "Warning" });
  }
  if (ready?.status === "True") add("SandboxReady", "Reconciling", "Sandbox is ready", ready.lastTransitionTime);
  if (suspended?.status === "True") {
    add("SandboxSuspended", "Suspending", suspended.message, suspended.lastTransitionTime);
  }
  const { shutdownTime = "", shutdownPolicy } = lifetimeOf(sandbox);
  if (ready?.reason === "SandboxExpired" && shutdownPolicy === "Retain") {
    // If the Sandbox was not Ready before, the expiry does not change the time of the condition.
    const at = Math.max(...[ready.lastTransitionTime, shutdownTime].map((time) => Date.parse(time) || -Infinity));
    add("SandboxExpired", "Expiring", ready.message, `expired ${shutdownTime}`, { at });
  }
  if (finished?.status === "True") {
    const isFailed = finished.reason === "PodFailed";
    const reason = isFailed ? "PodFailed" : "PodSucceeded";
    const type = isFailed ? "Warning" : "Normal";
    add(reason, "Reconciling", finished.message, finished.lastTransitionTime, { type });
  }
  const regarding = regardingOf(sandbox);
  return found.map((words) => ({ regarding, reportingController: SANDBOX_CONTROLLER, ...words }));
}

function runningSinceOf({ metadata, status }: Sandbox): string {
  return findCondition(status?.conditions, "Suspended")?.lastTransitionTime ?? metadata.creationTimestamp ?? "";
}

/**
 * For this long after a SandboxReady no other SandboxReady is recorded, unless the Sandbox was suspended in between: a probe
 * may fail every few seconds. The other Events need no limit: a Pod was created or deleted, which causes more Events itself.
 */
const REST_MS = 60_000;

/** What was last seen of a Sandbox. */
interface Known {
  /** Reason and key of each occurrence. */
  marks: string[];
  isSuspended: boolean;
  /** How often it was seen to change between suspended and not suspended. */
  turn: number;
  /** The last Event of each reason. */
  last: Readonly<Record<string, Last>>;
}

interface Last {
  key: string;
  /** How many Events have had this key. */
  count: number;
  turn: number;
  /** When it was recorded, in milliseconds since the epoch. */
  at: number;
}

const UNKNOWN: Known = { marks: [], isSuspended: false, turn: 0, last: {} };

/** Creates the event handler. Of the first list, only recent Events are recorded, as by `eventSource`. */
export function createSandboxEvents(record: RecordEvent, clock: () => number = Date.now): EventHandler<Sandbox> {
  const known = new Map<string, Known>();
  let isListed = false;
  return {
    observe(sandbox) {
      const { uid = "" } = sandbox.metadata;
      const before = known.get(uid) ?? UNKNOWN;
      const occurrences = sandboxOccurrences(sandbox);
      const now = clock();
      const isSuspended = findCondition(sandbox.status?.conditions, "Suspended")?.status === "True";
      const turn = before.turn + (isSuspended === before.isSuspended ? 0 : 1);
      const last: Record<string, Last> = { ...before.last };
      for (const occurrence of occurrences) {
        const { reason, key } = occurrence;
        if (before.marks.includes(markOf(occurrence)) || !(isListed || isYoung(occurrence, now))) continue;
        const earlier = last[reason];
        if (reason === "SandboxReady" && earlier?.turn === turn && now - earlier.at < REST_MS) continue;
        const count = countOf(earlier, key, turn);
        last[reason] = { key, count, turn, at: now };
        record(count > 1 ? { ...occurrence, key: `${key} ${count}` } : occurrence);
      }
      known.set(uid, { marks: occurrences.map(markOf), isSuspended, turn, last });
    },
    gone: (uid) => known.delete(uid),
    listed() {
      isListed = true;
    },
  };
}

/** Condition times are whole seconds: a Sandbox that is suspended and resumed within one second has the same key twice. */
function countOf(earlier: Last | undefined, key: string, turn: number): number {
  if (earlier?.key !== key) return 1;
  return earlier.turn === turn ? earlier.count : earlier.count + 1;
}

function markOf({ reason, key }: Occurrence): string {
  return `${reason} ${key}`;
}
