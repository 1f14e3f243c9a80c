/** The address that a request comes from, behind proxies that say so as well. Pure. @module */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { plainAddress } from "../../lib/hosts.ts";

/** Returns the address of a request's client. */
export type AddressOf = (request: Pick<IncomingMessage, "socket" | "headers">) => string;

const SUBNET = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/;

/**
 * Makes the function: the address of the peer, or where that is a trusted proxy, the last one in X-Forwarded-For that is
 * none. What stands before it the client may have written itself.
 *
 * @param trusted addresses and subnets such as `10.0.0.0/8`
 * @throws {RangeError} if one is neither
 */
export function createAddressOf(trusted: readonly string[]): AddressOf {
  const proxies = listOf(trusted);
  const isProxy = (address: string) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return ({ socket, headers }) => {
    const peer = plainAddress(socket.remoteAddress ?? "");
    if (trusted.length === 0 || isIP(peer) === 0 || !isProxy(peer)) return peer;
    const forwarded = [headers["x-forwarded-for"] ?? []].flat().join(",").split(",").map((address) =>
      plainAddress(address.trim())
    );
    let client = peer;
    for (const address of forwarded.reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      if (!isProxy(address)) break;
    }
    return client;
  };
}

function listOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of subnets) {
    const [, address = "", bits] = SUBNET.exec(text) ?? [];
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const prefix = Number(bits ?? most);
    if (family === 0 || prefix > most) {
      throw new RangeError(`Cannot trust the proxy "${text}": it is not an address or subnet such as 10.0.0.0/8`);
    }
    list.addSubnet(address, prefix, family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
