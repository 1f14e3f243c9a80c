/** Faults of Pods in tests, and how a test selects Pods. Pure. @module */
import type { KubeObject } from "../api/objects/objects.ts";

/**
 * What goes wrong with a Pod.
 *
 * | fault | effect |
 * |---|---|
 * | `unschedulable` | no node has room for it: PodScheduled is False |
 * | `image` | its image cannot be pulled: ImagePullBackOff |
 * | `config` | a container cannot be created, for example without its Secret: CreateContainerConfigError |
 * | `probe` | it runs, but never becomes Ready |
 * | `crash` | its containers end with an error: CrashLoopBackOff, or Failed if nothing restarts them |
 * | `ends` | its containers end without an error: Succeeded, if nothing restarts them |
 * | `fails` | it becomes Failed, whatever its restart policy: its node evicts it |
 * | `hangs` | nothing happens: no kubelet sees it |
 */
export type PodFault = "unschedulable" | "image" | "config" | "probe" | "crash" | "ends" | "fails" | "hangs";

/** What happens to a Pod; times in milliseconds. */
export interface PodFate {
  /** Time from its creation until it has an address. @default 20 */
  startMs?: number;
  /** Time from the address until it is Ready. @default 10 */
  readyMs?: number;
  /** Absent: the Pod has no fault. */
  fault?: PodFault | undefined;
  /** For `crash`, `ends` and `fails`: how long it is Ready before the fault. Absent: it never becomes Ready. */
  afterMs?: number;
  /** Message of the scheduler or kubelet about the fault. */
  message?: string;
}

/** Selects Pods: by name (a Pod has the name of its Sandbox, `*` selects all), by image, or with a function. */
export type PodMatch = string | { image: string } | ((pod: KubeObject) => boolean);

/** Returns a function that tells whether a Pod is selected. */
export function podMatcher(match: PodMatch): (pod: KubeObject) => boolean {
  if (typeof match === "function") return match;
  if (typeof match === "string") return ({ metadata }) => match === "*" || metadata.name === match;
  return (pod) => containersOf(pod).some(({ image }) => image === match.image);
}

/** Tells whether the kubelet restarts containers that ended with this exit code. */
export function isRestarted(pod: KubeObject, exitCode: number): boolean {
  const { restartPolicy = "Always" } = pod["spec"] as { restartPolicy?: string };
  return restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
}

/** Returns the default message of a fault. */
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
