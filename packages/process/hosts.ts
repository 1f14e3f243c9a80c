/** Checks the Host header of requests over loopback, against DNS rebinding. @module */
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Converts an IPv4 address in IPv6 notation (`::ffff:10.0.0.1`) to IPv4. Returns other addresses unchanged. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, "");
}

/** Returns whether an address of a socket is a loopback address, so that only programs on this machine can use it. */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address);
  const family = isIP(plain);
  return family !== 0 && loopback.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/** The destination of a request: its Host header, and the local address on which it arrived. */
export interface RequestTarget {
  host: string | undefined;
  localAddress: string | undefined;
}

/**
 * Returns whether a request may come from a web page whose host name was made to resolve to this machine (DNS
 * rebinding). Such a request has the page's own name as Host, and the browser treats this server as the page's origin.
 *
 * | local address | Host | rebound |
 * |---|---|---|
 * | not loopback | any | no: network policies and tokens decide who has access |
 * | loopback | none, an address, `localhost` or a name below it, one of `allowed` | no |
 * | loopback | another name | yes |
 *
 * @param allowed further names, without ports, in lower case
 */
export function isRebound({ host, localAddress }: RequestTarget, allowed: readonly string[]): boolean {
  if (host === undefined || localAddress === undefined || !isLoopback(localAddress)) return false;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
  return !isAddress && name !== "localhost" && !name.endsWith(".localhost") && !allowed.includes(name);
}

/** Returns the error for such a request, with the option that allows it. */
export function reboundText({ host }: RequestTarget): string {
  return `Cannot let you in: "${host}" is not a name of this machine; --allowed-hosts adds names`;
}

/** Parses the names of `--allowed-hosts`, separated by commas. */
export function hostsOf(text: string): string[] {
  return text.toLowerCase().split(",").map((name) => name.trim()).filter(Boolean);
}
