/** Checks the Host header of requests over loopback, against DNS rebinding. @module */
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Converts an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) to IPv4. Returns other addresses unchanged. */
export function unmapIPv4(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, "");
}

/** Returns whether the address of a socket is a loopback address. Only programs on this machine can connect to it. */
export function isLoopback(address: string): boolean {
  const plain = unmapIPv4(address);
  const family = isIP(plain);
  return family !== 0 && loopback.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/**
 * Returns whether a Host header, with or without a port, is `localhost`, `127.x.x.x` or `[::1]`. Browsers treat these
 * as secure origins, so they send Sec-Fetch-Site to them even over plain HTTP.
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d*$/, "");
  return name === "localhost" || name === "[::1]" || (isIP(name) === 4 && isLoopback(name));
}

/** The destination of a request: its Host header, and the local address on which it arrived. */
export interface RequestTarget {
  host: string | undefined;
  localAddress: string | undefined;
}

/**
 * Returns whether a request may be an attack by DNS rebinding: a web page lets its own host name resolve to this
 * machine, so that the browser takes this server for the page's origin. The Host header is then the name of the page.
 *
 * | local address | Host | rebound |
 * |---|---|---|
 * | not loopback | any | no: network policies and tokens decide who has access |
 * | loopback | none, an IP address, `localhost`, `*.localhost`, or a name in `allowed` | no |
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

/** Returns the error message for a request that {@link isRebound}, with the option that allows its host. */
export function reboundMessage({ host }: RequestTarget): string {
  return `Cannot serve host "${host}": it is not a name of this machine; to allow it, use --allowed-hosts`;
}

/** Parses the value of `--allowed-hosts`: names, separated by commas. */
export function parseHosts(text: string): string[] {
  return text.toLowerCase().split(",").map((name) => name.trim()).filter(Boolean);
}
