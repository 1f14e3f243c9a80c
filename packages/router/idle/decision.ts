/** Whether a sandbox is idle: what it wants done when nobody uses it, and all that is known of its use. Pure. @module */
import type { SandboxRecord } from "../index/records.ts";
import {
  CPU_ANNOTATION,
  DELETE_ANNOTATION,
  IDLE_ANNOTATION,
  MAX_ACTIVE_ANNOTATION,
} from "../../api/router/annotations.ts";

/** When to suspend. */
export interface IdlePolicy {
  idleSeconds: number;
  maxActiveSeconds: number;
  /** In cores. */
  cpuFloor: number;
  /** Undefined: it stays for ever. */
  deleteSeconds: number | undefined;
}

const CPU_FLOOR = 0.05;

/** Returns the policy; undefined: it is never idle. What cannot be read counts as absent: rather up than down. */
export function policyOf({ annotations }: SandboxRecord): IdlePolicy | undefined {
  const idleSeconds = numberOf(annotations[IDLE_ANNOTATION]);
  if (idleSeconds === undefined || idleSeconds < 1) return undefined;
  return {
    idleSeconds,
    maxActiveSeconds: numberOf(annotations[MAX_ACTIVE_ANNOTATION]) ?? Infinity,
    cpuFloor: numberOf(annotations[CPU_ANNOTATION]) ?? CPU_FLOOR,
    deleteSeconds: numberOf(annotations[DELETE_ANNOTATION]),
  };
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** What is known of a sandbox's use. */
export interface Evidence {
  /** Requests and streams that are open here. */
  open: number;
  /** Seconds since anybody was seen to use it, through whatever router; counted from its start if nobody has. */
  quietSeconds: number;
  /** The same, but that it became Ready counts for nothing: code inside can have it do that. */
  unaskedSeconds: number;
  /** What its runtime says; undefined: it has none that does. That is no evidence, and no veto. Silence is a veto. */
  activity: Activity | "silent" | undefined;
  /** Somebody holds a Lease on it. */
  isHeld: boolean;
}

/** What goes on inside. Absent fields say nothing. */
export interface Activity {
  running?: number | undefined;
  terminals?: number | undefined;
  streams?: number | undefined;
  /** Seconds since the runtime was last used. */
  idleSeconds?: number | undefined;
  /** Cores in use since the last look; undefined: this is the first. */
  cores?: number | undefined;
  /** Processes that ran or waited for a processor, now as at the last look. */
  wanting?: number | undefined;
  /** It does tell of its use of the CPU. */
  hasCPU: boolean;
}

/** What follows: suspend for a reason, in words for people; or leave it, and why. */
export type Decision =
  | { suspend: true; reason: "Idle" | "MaxActive"; note: string }
  | { suspend: false; because: string };

/**
 * Decides; the first that holds, from the top.
 *
 * | what holds | decision |
 * |---|---|
 * | somebody holds a Lease | stay |
 * | a request or stream is open | stay |
 * | nobody has used it for `idleSeconds`, and nothing goes on inside | suspend, Idle |
 * | nobody has asked for it for `maxActiveSeconds` | suspend, MaxActive: what goes on inside goes on for nobody |
 * | (none of these) | stay |
 */
export function idleDecision(policy: IdlePolicy, evidence: Evidence): Decision {
  const { open, quietSeconds, unaskedSeconds, activity, isHeld } = evidence;
  const stay = (because: string): Decision => ({ suspend: false, because });
  const quiet = (seconds: number) => `no traffic for ${Math.floor(seconds)} s`;
  if (isHeld) return stay("it is held by a Lease");
  if (open > 0) return stay(`${open} requests are open`);
  const work = quietSeconds < policy.idleSeconds ? "it was used, or not Ready" : workOf(policy, activity);
  if (work === undefined) {
    return { suspend: true, reason: "Idle", note: quiet(quietSeconds) + (activity ? ", and nothing runs" : "") };
  }
  if (!isSpent(policy, unaskedSeconds)) return stay(work);
  const note = `${quiet(unaskedSeconds)}, which is as long as it may work without (${work})`;
  return { suspend: true, reason: "MaxActive", note };
}

/** Tells whether nobody has asked for it for as long as it may work without. */
export function isSpent({ idleSeconds, maxActiveSeconds }: IdlePolicy, unaskedSeconds: number): boolean {
  return unaskedSeconds >= Math.max(idleSeconds, maxActiveSeconds);
}

/**
 * Says what goes on inside; undefined: nothing. The first that holds, from the top.
 *
 * | what the runtime says | work |
 * |---|---|
 * | there is none | none |
 * | nothing, though it listens | not known: it may get no CPU |
 * | commands, terminals or streams | they |
 * | it was used within `idleSeconds` | its use |
 * | its use of the CPU, for the first time | not known yet |
 * | more use of the CPU than the floor | that |
 * | more processes that want the CPU than the floor has cores | they: a node that is too full gives them next to none |
 */
function workOf({ idleSeconds, cpuFloor }: IdlePolicy, activity: Evidence["activity"]): string | undefined {
  if (!activity) return undefined;
  if (activity === "silent") return "its runtime does not answer in time";
  const { running = 0, terminals = 0, streams = 0, cores, wanting = 0, hasCPU } = activity;
  const count = running + terminals + streams;
  if (count > 0) return `${count} commands, terminals or streams`;
  if ((activity.idleSeconds ?? Infinity) < idleSeconds) return "its runtime was used";
  if (hasCPU && cores === undefined) return "its use of the CPU is not known yet";
  if (cores !== undefined && cores > cpuFloor) return `it uses ${cores.toFixed(2)} cores`;
  return wanting > cpuFloor ? `${wanting} processes of it want the CPU` : undefined;
}
