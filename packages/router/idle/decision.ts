/** Decides whether a sandbox is idle, from its annotations and everything known about its use. Pure. @module */
import type { SandboxRecord } from "../index/records.ts";
import {
  CPU_ANNOTATION,
  DELETE_ANNOTATION,
  IDLE_ANNOTATION,
  JOBS_ANNOTATION,
  MAX_ACTIVE_ANNOTATION,
  NETWORK_ANNOTATION,
} from "../../api/router/protocol.ts";

/** When to suspend a sandbox, from its annotations. */
export interface IdlePolicy {
  idleSeconds: number;
  maxActiveSeconds: number;
  /** Use of the CPU up to which the sandbox counts as idle, in cores. */
  cpuFloor: number;
  /** Bytes per second, sent and received, up to which the sandbox counts as idle. */
  networkFloor: number;
  /** Background jobs up to which the sandbox counts as idle. */
  jobsFloor: number;
  /** How long a sandbox stays suspended before it is deleted; undefined: forever. */
  deleteSeconds: number | undefined;
}

const CPU_FLOOR = 0.05;
/** Above what health checks and the questions of a router take, which is about 2 kB per second. */
const NETWORK_FLOOR = 50_000;

/**
 * Returns the policy; undefined: the sandbox is never idle. Unreadable annotations are ignored, so that it stays up.
 */
export function policyOf({ annotations }: SandboxRecord): IdlePolicy | undefined {
  const idleSeconds = numberOf(annotations[IDLE_ANNOTATION]);
  if (idleSeconds === undefined || idleSeconds < 1) return undefined;
  return {
    idleSeconds,
    maxActiveSeconds: numberOf(annotations[MAX_ACTIVE_ANNOTATION]) ?? Infinity,
    cpuFloor: numberOf(annotations[CPU_ANNOTATION]) ?? CPU_FLOOR,
    networkFloor: numberOf(annotations[NETWORK_ANNOTATION]) ?? NETWORK_FLOOR,
    jobsFloor: numberOf(annotations[JOBS_ANNOTATION]) ?? Infinity,
    deleteSeconds: numberOf(annotations[DELETE_ANNOTATION]),
  };
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Everything known about the use of a sandbox. */
export interface SandboxUse {
  /** Requests and streams that are open in this router. */
  open: number;
  /** Seconds since the last known use through any router, or since the sandbox became Ready. */
  quietSeconds: number;
  /** The same, but without the time at which it became Ready, as code inside the sandbox can cause that. */
  unaskedSeconds: number;
  /**
   * What the sandbox's runtime reports. undefined: it has no runtime that reports, which does not prevent suspension.
   * "silent": its runtime does not answer in time, which prevents suspension as idle.
   */
  activity: Activity | "silent" | undefined;
  /** A Lease holds the sandbox: it must stay up. */
  isHeld: boolean;
}

/** Activity inside the sandbox, as its runtime reports it. Absent fields are unknown. */
export interface Activity {
  running?: number | undefined;
  terminals?: number | undefined;
  streams?: number | undefined;
  /** Seconds since the runtime was last used. */
  idleSeconds?: number | undefined;
  /** Average use of the CPU since the previous sample; undefined: there is no previous sample. */
  cores?: number | undefined;
  /** Processes that commands and code have left behind. */
  jobs?: number | undefined;
  /** Bytes that the sandbox has sent and received, per second since the previous sample. */
  bytesPerSecond?: number | undefined;
  /** Processes that ran or waited for a CPU, both now and at the previous sample. */
  wanting?: number | undefined;
  /** The runtime reports use of the CPU. */
  hasCPU: boolean;
}

/** Whether to suspend the sandbox. `note` and `because` are for people. */
export type IdleDecision =
  | { suspend: true; reason: "Idle" | "MaxActive"; note: string }
  | { suspend: false; because: string };

/**
 * Decides whether to suspend a sandbox. The first row that applies decides.
 *
 * | observation | decision |
 * |---|---|
 * | a Lease holds it | stay |
 * | a request or stream is open | stay |
 * | no use for `idleSeconds`, and no activity inside | suspend, Idle |
 * | no request from outside for `maxActiveSeconds` | suspend, MaxActive: nobody waits for the activity inside |
 * | (none of these) | stay |
 */
export function decideIdle(policy: IdlePolicy, use: SandboxUse): IdleDecision {
  const { open, quietSeconds, unaskedSeconds, activity, isHeld } = use;
  const keep = (because: string): IdleDecision => ({ suspend: false, because });
  const withoutTraffic = (seconds: number) => `no traffic for ${Math.floor(seconds)} s`;
  if (isHeld) return keep("it is held by a Lease");
  if (open > 0) return keep(`${open} requests are open`);
  const activityText = quietSeconds < policy.idleSeconds
    ? "it was used, or not Ready"
    : activityInside(policy, activity);
  if (activityText === undefined) {
    return {
      suspend: true,
      reason: "Idle",
      note: withoutTraffic(quietSeconds) + (activity ? ", and nothing runs" : ""),
    };
  }
  if (!isActiveTimeOver(policy, unaskedSeconds)) return keep(activityText);
  const note = `${withoutTraffic(unaskedSeconds)}, which is as long as it may work without (${activityText})`;
  return { suspend: true, reason: "MaxActive", note };
}

/** Tells whether the time without requests has reached the limit, even for a sandbox with activity inside. */
export function isActiveTimeOver({ idleSeconds, maxActiveSeconds }: IdlePolicy, unaskedSeconds: number): boolean {
  return unaskedSeconds >= Math.max(idleSeconds, maxActiveSeconds);
}

/**
 * Describes the activity inside; undefined: there is none. The first row that applies decides.
 *
 * | the runtime reports | activity |
 * |---|---|
 * | (there is no runtime) | none |
 * | (it accepts connections, but does not answer) | unknown: it may get no CPU time |
 * | commands, terminals or streams | their number |
 * | use within `idleSeconds` | this use |
 * | its use of the CPU for the first time | not known yet |
 * | more use of the CPU than the floor | this use |
 * | more processes that want the CPU than the floor has cores | these: on a full node they get almost no CPU time |
 * | more network traffic than the floor | this traffic |
 * | more background jobs than the floor | their number |
 */
function activityInside(policy: IdlePolicy, activity: SandboxUse["activity"]): string | undefined {
  const { idleSeconds, cpuFloor, networkFloor, jobsFloor } = policy;
  if (!activity) return undefined;
  if (activity === "silent") return "its runtime does not answer in time";
  const { running = 0, terminals = 0, streams = 0, cores, wanting = 0, hasCPU } = activity;
  const count = running + terminals + streams;
  if (count > 0) return `${count} commands, terminals or streams`;
  if ((activity.idleSeconds ?? Infinity) < idleSeconds) return "its runtime was used";
  if (hasCPU && cores === undefined) return "its use of the CPU is not known yet";
  if (cores !== undefined && cores > cpuFloor) return `it uses ${cores.toFixed(2)} cores`;
  if (wanting > cpuFloor) return `${wanting} processes of it want the CPU`;
  const { bytesPerSecond = 0, jobs = 0 } = activity;
  if (bytesPerSecond > networkFloor) return `it sends and receives ${Math.round(bytesPerSecond / 1000)} kB/s`;
  return jobs > jobsFloor ? `${jobs} background jobs` : undefined;
}
