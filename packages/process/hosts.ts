/** The names by which this machine may be asked over loopback. Pure. @module */
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Returns an IPv4 address that a socket names as one of IPv6 (`::ffff:10.0.0.1`) as IPv4, any other as it is. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, "");
}

/** Tells whether only programs of this machine can have come over an address, as sockets name it. */
export function isLoopback(address: string): boolean {
  const plain = plainAddress(address);
  const family = isIP(plain);
  return family !== 0 && loopback.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/** Where a request goes: the Host that it names, and the address of this machine that it has come over. */
export interface Asked {
  host: string | undefined;
  localAddress: string | undefined;
}

/**
 * Tells whether a request may come from a page whose name was made to lead to this machine (DNS rebinding): it still names
 * its own as Host, and its browser takes it for a page of ours.
 *
 * | come over | Host | rebound |
 * |---|---|---|
 * | another address than loopback | any | no: who may come there is a matter of networks and tokens |
 * | loopback | none, an address, `localhost` or below it, one of `allowed` | no |
 * | loopback | another name | yes |
 *
 * @param allowed further names, without ports, in lower case
 */
export function isRebound({ host, localAddress }: Asked, allowed: readonly string[]): boolean {
  if (host === undefined || localAddress === undefined || !isLoopback(localAddress)) return false;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
  return !isAddress && name !== "localhost" && !name.endsWith(".localhost") && !allowed.includes(name);
}

/** Says why such a request is refused, and what lets it in. */
export function reboundText({ host }: Asked): string {
  return `Cannot let you in: "${host}" is not a name of this machine; --allowed-hosts adds names`;
}

/** Reads the names of `--allowed-hosts`, comma-separated. */
export function hostsOf(text: string): string[] {
  return text.toLowerCase().split(",").map((name) => name.trim()).filter(Boolean);
}
