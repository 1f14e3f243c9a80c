/** How much one client may ask at a time and in a time, and which address it comes from, behind proxies that say so as well. @module */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { TLSSocket } from "node:tls";
import { plainAddress } from "../../process/hosts.ts";
import { createBudget } from "../budget.ts";
import type { Refusal } from "../refusal.ts";

export interface LimitOptions {
  /** Requests of a client per second, and as many at once as it may save up; 0: any number. */
  perSecond: number;
  burst: number;
  /** Requests and open streams of a client at a time; 0: any number. */
  atOnce: number;
}

/** Lets a client begin a request: returns what to call at its end, or a refusal. */
export type Limits = (client: string, now: number) => (() => void) | Refusal;

/** Makes the limits; undefined: there are none. */
export function createLimits({ perSecond, burst, atOnce }: LimitOptions): Limits | undefined {
  if (perSecond === 0 && atOnce === 0) return undefined;
  const budget = createBudget(perSecond, burst);
  const running = new Map<string, number>();
  return (client, now) => {
    const count = running.get(client) ?? 0;
    if (atOnce > 0 && count >= atOnce) return tooMany(`${count} requests of this client run already.`, 1);
    const seconds = budget(client, now);
    if (seconds > 0) return tooMany(`More than ${perSecond} requests of this client per second.`, seconds);
    running.set(client, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (running.get(client) ?? 1) - 1;
      if (left === 0) running.delete(client);
      else running.set(client, left);
    };
  };
}

function tooMany(detail: string, seconds: number): Refusal {
  return { status: 429, detail, headers: { "Retry-After": String(seconds) } };
}

/** Returns the address of a request's client. */
export type AddressOf = (request: Pick<IncomingMessage, "socket" | "headers">) => string;

/** Returns the protocol that a request's client speaks. */
export type ProtoOf = (request: Pick<IncomingMessage, "socket" | "headers">) => "http" | "https";

/** Makes the function: the protocol of the connection, or where its peer is a trusted proxy, the last in X-Forwarded-Proto. @throws as {@link createAddressOf} */
export function createProtoOf(trusted: readonly string[]): ProtoOf {
  const proxies = listOf(trusted);
  return ({ socket, headers }) => {
    const peer = plainAddress(socket.remoteAddress ?? "");
    const isProxy = trusted.length > 0 && isIP(peer) !== 0 && proxies.check(peer, isIP(peer) === 6 ? "ipv6" : "ipv4");
    const forwarded = isProxy ? [headers["x-forwarded-proto"] ?? ""].flat().join(",").split(",").at(-1)?.trim() : "";
    if (forwarded === "http" || forwarded === "https") return forwarded;
    return (socket as Partial<TLSSocket>).encrypted === true ? "https" : "http";
  };
}

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
