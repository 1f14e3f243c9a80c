/**
 * Computes the one STATUS that lists, the dashboard and JSON show of a Sandbox, a claim or a pool. It is the finding of
 * `why` in the words that kubectl uses. Pure. @module
 */
import type { Code } from "../api/diagnosis/catalogue.ts";
import type { ContainerFact, PodFact } from "../api/diagnosis/facts.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import { unschedulableReasons } from "../api/diagnosis/rules/scheduling.ts";
import { secondsSince, timeOf } from "../api/diagnosis/scene.ts";
import { why } from "../api/diagnosis/why.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { WAKE_TIMEOUT_MS, WOKEN_AT_ANNOTATION } from "../api/router/protocol.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";

/** `good`: as it should be; `progress`: wait; `bad`: look at it; `off`: does not run, and is not meant to. */
export type Tone = "good" | "progress" | "bad" | "off";

/** What column STATUS shows. */
export interface Status {
  /**
   * `Running`, `Starting`, `Waking`, `Suspending`, `Suspended`, `Terminating`, `Expired`, `Finished`, `Failed`,
   * `Evicted`, `ImagePullBackOff`, `CrashLoopBackOff`, `Unschedulable`, `NotReady`, `NotReconciled`, `Unfenced` and others. Claims:
   * `Pending` while they have no Sandbox. Pools: `Full`, `Filling`. A problem without such a name has its code in docs/why.md.
   */
  name: string;
  /** `good` exactly if `why` finds nothing wrong. */
  tone: Tone;
  /** A few words to show in brackets after the name, such as `6 restarts, exit code 3`. */
  note?: string;
  /** One sentence; absent: nothing to add. */
  detail?: string;
}

/** Returns the text for a table: `CrashLoopBackOff (6 restarts, exit code 3)`. */
export function statusText({ name, note }: Status): string {
  return note === undefined ? name : `${name} (${note})`;
}

/** Returns the status of a Sandbox. @param pod its Pod; undefined: none, or it was not read */
export function sandboxStatus(sandbox: Sandbox, pod: PodFact | undefined, now: Date): Status {
  const facts = { subject: subjectOf("Sandbox", sandbox), sandbox, ...ifRead(pod) };
  return statusOf(why(facts, now), { sandbox, pod, now });
}

/**
 * Returns the status of a claim: if the claim has a Sandbox, that one's.
 *
 * @param sandbox the Sandbox that is bound to the claim or created for it; undefined: none, or it was not read
 * @param pod that Sandbox's Pod; undefined: none, or it was not read
 */
export function claimStatus(
  claim: SandboxClaim,
  sandbox: Sandbox | undefined,
  pod: PodFact | undefined,
  now: Date,
): Status {
  const facts = { subject: subjectOf("SandboxClaim", claim), claim, ...(sandbox ? { sandbox } : {}), ...ifRead(pod) };
  const finding = why(facts, now);
  const isOwn = finding.object.kind === "SandboxClaim";
  if (isOwn && ["Starting", "NotReady", "ControllerSilent"].includes(finding.code)) {
    const tone = finding.code === "Starting" ? "progress" : "bad";
    const name = claim.status?.sandbox?.name === undefined
      ? "Pending"
      : finding.code === "Starting"
      ? "Starting"
      : "NotReady";
    return { name, tone, detail: finding.summary };
  }
  return statusOf(finding, { sandbox, pod, now });
}

/** Returns the status of a pool, from its own conditions. */
export function poolStatus(pool: SandboxWarmPool, now: Date): Status {
  const finding = why({ subject: subjectOf("SandboxWarmPool", pool), pool }, now);
  if (finding.isOk) return { name: "Full", tone: "good" };
  if (finding.code !== "Starting") return statusOf(finding, { sandbox: undefined, pod: undefined, now });
  const progressing = findCondition(pool.status?.conditions, "Progressing");
  const { reason = "Filling", message } = progressing ?? {};
  if (reason === "Filling" || reason === "Full") return { name: "Filling", tone: "progress", detail: finding.summary };
  return { name: POOL_NAMES[reason] ?? reason, tone: "bad", ...(message ? { detail: message } : {}) };
}

/** What a pool's reasons are called on its members. */
const POOL_NAMES: Record<string, string> = {
  ImagePullFailed: "ImagePullBackOff",
  NetworkPolicyMissing: "Unfenced",
  NetworkPolicyNotOwned: "Unfenced",
  NetworkPolicyOutdated: "Unfenced",
  PodsFinished: "Finished",
};

interface Observed {
  sandbox: Sandbox | undefined;
  pod: PodFact | undefined;
  now: Date;
}

const NAMES: Partial<Record<Code, [name: string, tone: Tone]>> = {
  Ready: ["Running", "good"],
  BeingDeleted: ["Terminating", "off"],
  Suspended: ["Suspended", "off"],
  Expired: ["Expired", "off"],
  PodSucceeded: ["Finished", "off"],
  PodFailed: ["Failed", "bad"],
  PodEvicted: ["Evicted", "bad"],
  Starting: ["Starting", "progress"],
  PodTerminating: ["Starting", "progress"],
  SandboxLost: ["SandboxLost", "progress"],
  SchedulingGated: ["SchedulingGated", "progress"],
  NetworkPolicyMissing: ["Unfenced", "bad"],
  SchedulerSilent: ["Pending", "bad"],
  ControllerSilent: ["NotReconciled", "bad"],
  // The kubelet alternates between ErrImagePull and ImagePullBackOff; a list that flips cannot be filtered.
  ImageNotFound: ["ImagePullBackOff", "bad"],
  ImageUnauthorized: ["ImagePullBackOff", "bad"],
  ImagePullFailed: ["ImagePullBackOff", "bad"],
  ImageNotPresent: ["ErrImageNeverPull", "bad"],
  CrashLoop: ["CrashLoopBackOff", "bad"],
  OutOfMemory: ["CrashLoopBackOff", "bad"],
  RunAsNonRoot: ["CreateContainerConfigError", "bad"],
  SecretNotFound: ["CreateContainerConfigError", "bad"],
  ConfigMapNotFound: ["CreateContainerConfigError", "bad"],
  KeyNotFound: ["CreateContainerConfigError", "bad"],
  ContainerConfigInvalid: ["CreateContainerConfigError", "bad"],
  ContainerStartFailed: ["RunContainerError", "bad"],
  NoNodes: ["Unschedulable", "bad"],
  InsufficientResources: ["Unschedulable", "bad"],
  UntoleratedTaint: ["Unschedulable", "bad"],
  NodeSelectorMismatch: ["Unschedulable", "bad"],
  PodAffinityUnsatisfied: ["Unschedulable", "bad"],
  VolumeNodeConflict: ["Unschedulable", "bad"],
};

function statusOf(finding: Finding, observed: Observed): Status {
  const { code, summary, isOk } = finding;
  const { sandbox, pod } = observed;
  const [name, tone] = NAMES[code] ?? [code, "bad" as const];
  const detail = isOk ? outdated(sandbox) : summary;
  const status: Status = { name, tone, ...(detail === undefined ? {} : { detail }) };
  const note = (words: string | undefined) => words === undefined ? {} : { note: words };
  switch (name) {
    case "Running":
      return { ...status, ...note(detail === undefined ? undefined : "Pod outdated") };
    case "Suspended":
      return isSuspending(sandbox) ? { ...status, name: "Suspending", tone: "progress" } : status;
    case "Starting":
      return isWaking(observed) ? { ...status, name: "Waking" } : status;
    case "NotReady":
      return isBeingSetUp(observed) ? { ...status, name: "Starting", tone: "progress" } : status;
    case "Failed":
      return { ...status, ...note(endOf(pod)) };
    case "Unschedulable":
      return { ...status, ...note(unscheduledNote(observed)) };
    case "CrashLoopBackOff":
    case "ProbeFailing":
    case "RunContainerError":
      return crashStatus(status, pod);
    default:
      return status;
  }
}

function crashStatus(status: Status, pod: PodFact | undefined): Status {
  const container = worstContainer(pod);
  if (!container) return status;
  const { restartCount: restarts = 0, state } = container;
  const told = state?.waiting?.reason;
  const name = restarts > 0 && (told === undefined || told === "CrashLoopBackOff")
    ? "CrashLoopBackOff"
    : told ?? (state?.terminated ? "Error" : status.name);
  const often = restarts === 0 ? [] : [`${restarts} ${restarts === 1 ? "restart" : "restarts"}`];
  const words = [...often, endOf(pod)].filter((part) => part !== undefined).join(", ");
  return { ...status, name, ...(words === "" ? {} : { note: words }) };
}

/** Returns how the last container that ended has ended: `exit code 3`, `OOMKilled`; undefined: not known. */
function endOf(pod: PodFact | undefined): string | undefined {
  const { state, lastState } = worstContainer(pod) ?? {};
  const end = state?.terminated ?? lastState?.terminated;
  if (!end) return undefined;
  return end.reason === "OOMKilled" ? end.reason : `exit code ${end.exitCode ?? "unknown"}`;
}

/** Returns the container that has failed, or that has restarted most often; undefined: none has. */
function worstContainer(pod: PodFact | undefined): ContainerFact | undefined {
  const all = [...pod?.status?.initContainerStatuses ?? [], ...pod?.status?.containerStatuses ?? []];
  const failed = all.filter(({ state, lastState }) => (state?.terminated ?? lastState?.terminated)?.exitCode);
  const restarts = ({ restartCount = 0 }: ContainerFact) => restartCount;
  return failed.toSorted((a, b) => restarts(b) - restarts(a))[0] ??
    all.filter((one) => restarts(one) > 0 || one.state?.waiting).toSorted((a, b) => restarts(b) - restarts(a))[0];
}

function unscheduledNote({ sandbox, pod }: Observed): string | undefined {
  const told = pod?.status?.conditions?.find(({ type }) => type === "PodScheduled") ??
    findCondition(sandbox?.status?.conditions, "PodScheduled");
  const reasons = unschedulableReasons(told?.message ?? "");
  return reasons.length === 0 ? undefined : reasons.join(", ");
}

function isSuspending(sandbox: Sandbox | undefined): boolean {
  const suspended = findCondition(sandbox?.status?.conditions, "Suspended");
  return suspended !== undefined && suspended.status !== "True";
}

/** Tells whether the Sandbox starts because it was resumed: its status still says suspended, or a router woke it. */
function isWaking({ sandbox, now }: Observed): boolean {
  if (!sandbox) return false;
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  if (ready?.reason === "SandboxSuspended") return true;
  const woken = sandbox.metadata.annotations?.[WOKEN_AT_ANNOTATION];
  return woken !== undefined && now.getTime() - timeOf(woken) < WAKE_TIMEOUT_MS;
}

/** Large images take minutes. A node that needs longer has a problem that only Events tell. */
const SET_UP_SECONDS = 300;

function isBeingSetUp({ pod, now }: Observed): boolean {
  const waits = [...pod?.status?.initContainerStatuses ?? [], ...pod?.status?.containerStatuses ?? []]
    .some(({ state }) => /^(ContainerCreating|PodInitializing)$/.test(state?.waiting?.reason ?? ""));
  return waits && secondsSince(pod?.metadata.creationTimestamp, now) < SET_UP_SECONDS;
}

function outdated(sandbox: Sandbox | undefined): string | undefined {
  const condition = findCondition(sandbox?.status?.conditions, "PodOutdated");
  return condition?.status === "True" ? condition.message : undefined;
}

function ifRead(pod: PodFact | undefined): { pod?: PodFact } {
  return pod ? { pod } : {};
}

function subjectOf<K extends string>(
  kind: K,
  { metadata }: { metadata: { namespace?: string | undefined; name: string } },
) {
  return { kind, namespace: metadata.namespace ?? "default", name: metadata.name };
}
