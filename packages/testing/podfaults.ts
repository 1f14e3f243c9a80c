/** What can become of a Pod, and which Pods are meant. Pure. @module */
import type { KubeObject } from "../api/objects/objects.ts";

/**
 * What goes wrong with a Pod.
 *
 * | fault | what is seen |
 * |---|---|
 * | `unschedulable` | no node takes it: PodScheduled is False |
 * | `image` | its image cannot be pulled: ImagePullBackOff |
 * | `config` | a container cannot be made, for want of a Secret for instance: CreateContainerConfigError |
 * | `probe` | it runs, and never becomes Ready |
 * | `crash` | its containers end with an error: CrashLoopBackOff, or Failed where nothing restarts them |
 * | `ends` | its containers end well: Succeeded, where nothing restarts them |
 * | `fails` | it becomes Failed, whatever restarts containers: its node evicts it |
 * | `hangs` | nothing is heard of it: no kubelet sees it |
 */
export type PodFault = "unschedulable" | "image" | "config" | "probe" | "crash" | "ends" | "fails" | "hangs";

/** What becomes of a Pod; times in milliseconds. */
export interface PodFate {
  /** From its creation until it has an address. @default 20 */
  startMs?: number;
  /** From there until it is Ready. @default 10 */
  readyMs?: number;
  /** Absent: nothing goes wrong. */
  fault?: PodFault | undefined;
  /** For `crash`, `ends` and `fails`: how long it was Ready before. Absent: it never is. */
  afterMs?: number;
  /** What the scheduler or the kubelet says of the fault. */
  message?: string;
}

/** Which Pods: by name (a Pod has the name of its Sandbox, `*` means all), by image, or by what a function says. */
export type PodMatch = string | { image: string } | ((pod: KubeObject) => boolean);

/** Returns the predicate. */
export function podMatcher(match: PodMatch): (pod: KubeObject) => boolean {
  if (typeof match === "function") return match;
  if (typeof match === "string") return ({ metadata }) => match === "*" || metadata.name === match;
  return (pod) => containersOf(pod).some(({ image }) => image === match.image);
}

/** Whether the kubelet starts containers anew that ended with this exit code. */
export function isRestarted(pod: KubeObject, exitCode: number): boolean {
  const { restartPolicy = "Always" } = pod["spec"] as { restartPolicy?: string };
  return restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
}

/** Returns what is said of a fault unless a fate says it otherwise. */
export function faultWords(pod: KubeObject, fault: PodFault): string {
  const [{ name = "main", image = "" } = {}] = containersOf(pod);
  const words: Partial<Record<PodFault, string>> = {
    unschedulable: "0/1 nodes are available: 1 Insufficient cpu.",
    image: `Back-off pulling image "${image}"`,
    config: 'secret "absent" not found',
    crash: `back-off 10s restarting failed container=${name}`,
    fails: "The node was low on resource: memory.",
  };
  return words[fault] ?? "";
}

function containersOf(pod: KubeObject): { name?: string; image?: string }[] {
  return (pod["spec"] as { containers?: { name?: string; image?: string }[] } | undefined)?.containers ?? [];
}
