/** Finds a client's address and protocol. Trusted proxies may report both in headers. @module */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { TLSSocket } from "node:tls";
import { isLoopback, unmapIPv4 } from "../../process/hosts.ts";

type ReceivedRequest = Pick<IncomingMessage, "socket" | "headers">;

/** Returns the address of a request's client. */
export type AddressOf = (request: ReceivedRequest) => string;

/** Returns the protocol that a request's client speaks. */
export type ProtoOf = (request: ReceivedRequest) => "http" | "https";

/**
 * Creates the function. It returns the address of the peer, or, if the peer is a trusted proxy, the last address in
 * X-Forwarded-For that is not a trusted proxy. The client may have written the addresses before that one.
 *
 * @param trusted addresses and subnets such as `10.0.0.0/8`
 * @throws {RangeError} if one is neither
 */
export function createAddressOf(trusted: readonly string[]): AddressOf {
  const isProxy = proxyTest(trusted);
  return ({ socket, headers }) => {
    const peer = unmapIPv4(socket.remoteAddress ?? "");
    if (!isProxy(peer)) return peer;
    let client = peer;
    for (const address of valuesOf(headers["x-forwarded-for"]).map(unmapIPv4).reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      if (!isProxy(address)) break;
    }
    return client;
  };
}

/**
 * Creates the function. It returns the protocol of the connection, or, if the peer is a trusted proxy, the last protocol
 * in X-Forwarded-Proto.
 *
 * @throws {RangeError} as {@link createAddressOf}
 */
export function createProtoOf(trusted: readonly string[]): ProtoOf {
  const isProxy = proxyTest(trusted);
  return ({ socket, headers }) => {
    const forwarded = isProxy(unmapIPv4(socket.remoteAddress ?? ""))
      ? valuesOf(headers["x-forwarded-proto"]).at(-1)
      : undefined;
    if (forwarded === "http" || forwarded === "https") return forwarded;
    return (socket as Partial<TLSSocket>).encrypted === true ? "https" : "http";
  };
}

/** Returns whether a trusted proxy may connect from a loopback address. Its clients then do the same. */
export function isProxyOnLoopback(trusted: readonly string[]): boolean {
  return ["127.0.0.1", "::1"].some(proxyTest(trusted)) ||
    trusted.some((subnet) => isLoopback(subnet.replace(/\/.*/, "")));
}

function valuesOf(header: string | string[] | undefined): string[] {
  return [header ?? []].flat().join(",").split(",").map((part) => part.trim());
}

const SUBNET = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/;

/** Creates the test whether an address is that of a trusted proxy. @throws {RangeError} if a subnet is invalid */
function proxyTest(subnets: readonly string[]): (address: string) => boolean {
  if (subnets.length === 0) return () => false;
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
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}
