/** Tells which IP addresses Pods can have, and which Pods have lost theirs to a younger Pod. @module */
import { BlockList, isIP } from "node:net";
import { isLoopback } from "../../process/hosts.ts";
import type { PodRecord } from "./records.ts";

/** Ranges without Pods, except loopback. Ranges that embed IPv4 addresses are refused as a whole. */
const NEVER: [prefix: string, bits: number, family: "ipv4" | "ipv6"][] = [
  ["0.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["224.0.0.0", 4, "ipv4"],
  ["240.0.0.0", 4, "ipv4"],
  ["::", 128, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["fec0::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"],
  ["64:ff9b::", 96, "ipv6"],
  ["64:ff9b:1::", 48, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["2001::", 32, "ipv6"],
];
const LOOPBACK: typeof NEVER = [["127.0.0.0", 8, "ipv4"], ["::1", 128, "ipv6"]];
/** `::ffff:a.b.c.d`, `::ffff:0:a.b.c.d` and `::a.b.c.d`, in the form that `canonicalIP` returns. */
const EMBEDDED_IPV4 = /^::(ffff:)?(0:)?[0-9a-f]{1,4}:[0-9a-f]{1,4}$/;

const never = listOf(NEVER);
const loopback = listOf(LOOPBACK);

/** Returns the address as Kubernetes would write it; undefined if `text` is no IP address or has a zone. */
export function canonicalIP(text: string): string | undefined {
  const family = isIP(text);
  if (family === 4) return text;
  if (family !== 6 || text.includes("%")) return undefined;
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/**
 * Tells whether a Pod can have this address.
 *
 * @param ip in canonical form, see {@link canonicalIP}
 * @param allowLoopbackPodIp true only in tests, where sandboxes listen on this machine
 */
export function isPodAddress(ip: string, allowLoopbackPodIp: boolean): boolean {
  const family = ip.includes(":") ? "ipv6" : "ipv4";
  if (loopback.check(ip, family)) return allowLoopbackPodIp && !EMBEDDED_IPV4.test(ip);
  return !EMBEDDED_IPV4.test(ip) && !never.check(ip, family);
}

function listOf(subnets: typeof NEVER): BlockList {
  const list = new BlockList();
  for (const [prefix, bits, family] of subnets) list.addSubnet(prefix, bits, family);
  return list;
}

interface Addresses {
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
  const pods = new Map<string, PodRecord>();
  const lost = new Set<string>();

  function updateLost(uid: string): void {
    const pod = pods.get(uid);
    const isLost = pod !== undefined && pod.ips.some((ip) => {
      for (const other of holders.get(ip)?.values() ?? []) if (other !== pod && hasTaken(other, pod)) return true;
      return false;
    });
    if (isLost) lost.add(uid);
    else lost.delete(uid);
  }

  function updateLostAt(ips: readonly string[]): void {
    for (const ip of ips) for (const uid of holders.get(ip)?.keys() ?? []) updateLost(uid);
  }

  function remove({ metadata: { uid } }: PodRecord): void {
    const before = pods.get(uid);
    if (!before) return;
    pods.delete(uid);
    lost.delete(uid);
    for (const ip of before.ips) {
      const group = holders.get(ip);
      group?.delete(uid);
      if (group?.size === 0) holders.delete(ip);
    }
    updateLostAt(before.ips);
  }

  return {
    lost,
    put(pod) {
      const { uid } = pod.metadata;
      const before = pods.get(uid);
      if (before && before.ips.join() === pod.ips.join() && holdsOf(before) === holdsOf(pod)) return [];
      remove(pod);
      if (!holdsOf(pod)) return [];
      pods.set(uid, pod);
      for (const ip of pod.ips) holders.set(ip, (holders.get(ip) ?? new Map<string, PodRecord>()).set(uid, pod));
      updateLostAt(pod.ips);
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
