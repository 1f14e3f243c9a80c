/**
 * Tells which IP addresses a Pod can have. The router never dials others: they could be its own or a node's.
 * @module
 */
import { BlockList, isIP } from "node:net";

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
