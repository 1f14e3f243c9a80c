/**
 * Finds Pods of sandboxes that have lost their address to a younger Pod. The end of such a Pod has not been observed,
 * because its node is lost or the watch is late.
 * @module
 */
import { isLoopback } from "../../process/hosts.ts";
import type { PodRecord } from "./records.ts";

export interface Addresses {
  /**
   * UIDs of Pods that have lost an address to a younger Pod. If two Pods are equally old, neither is certain: both are
   * here.
   */
  lost: ReadonlySet<string>;
  /** Adds or updates a Pod. If the Pod is new or has changed, returns its addresses that another Pod has, too. */
  put(pod: PodRecord): string[];
  remove(pod: PodRecord): void;
}

export function createAddresses(): Addresses {
  const holders = new Map<string, Map<string, PodRecord>>();
  const known = new Map<string, PodRecord>();
  const lost = new Set<string>();

  function judge(uid: string): void {
    const pod = known.get(uid);
    const isLost = pod !== undefined && pod.ips.some((ip) => {
      for (const other of holders.get(ip)?.values() ?? []) if (other !== pod && hasTaken(other, pod)) return true;
      return false;
    });
    if (isLost) lost.add(uid);
    else lost.delete(uid);
  }

  function judgeAt(ips: readonly string[]): void {
    for (const ip of ips) for (const uid of holders.get(ip)?.keys() ?? []) judge(uid);
  }

  function remove({ metadata: { uid } }: PodRecord): void {
    const before = known.get(uid);
    if (!before) return;
    known.delete(uid);
    lost.delete(uid);
    for (const ip of before.ips) {
      const group = holders.get(ip);
      group?.delete(uid);
      if (group?.size === 0) holders.delete(ip);
    }
    judgeAt(before.ips);
  }

  return {
    lost,
    put(pod) {
      const { uid } = pod.metadata;
      const before = known.get(uid);
      if (before && before.ips.join() === pod.ips.join() && holdsOf(before) === holdsOf(pod)) return [];
      remove(pod);
      if (!holdsOf(pod)) return [];
      known.set(uid, pod);
      for (const ip of pod.ips) holders.set(ip, (holders.get(ip) ?? new Map<string, PodRecord>()).set(uid, pod));
      judgeAt(pod.ips);
      return pod.ips.filter((ip) => (holders.get(ip)?.size ?? 0) > 1);
    },
    remove,
  };
}

/** Two equally old Pods of one Sandbox both keep the address: the Sandbox's status says which one counts. */
function hasTaken(other: PodRecord, pod: PodRecord): boolean {
  const isOfOne = other.sandboxUID !== undefined && other.sandboxUID === pod.sandboxUID;
  return ageOf(other) > ageOf(pod) || (ageOf(other) === ageOf(pod) && !isOfOne);
}

/** A Pod that has ended has no address, although its status shows one. Pods on a node's network share an address. */
function holdsOf({ phase, usesHostNetwork, ips }: PodRecord): boolean {
  return !usesHostNetwork && phase !== "Succeeded" && phase !== "Failed" && ips.every((ip) => !isLoopback(ip));
}

function ageOf({ createdAt = -Infinity }: PodRecord): number {
  return createdAt;
}
