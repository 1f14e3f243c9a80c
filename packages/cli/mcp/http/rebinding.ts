/** Refuses requests of web pages, by the headers Host and Origin. @module */
import type { Address } from "./address.ts";

/** Allowed hosts and origins. */
export interface Sources {
  /** In addition to the names of the loopback address, if the server listens there. */
  hosts: readonly string[];
  /** Origins of pages that may use the server, such as `https://agents.example`. */
  origins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Creates the check. It returns why a request is refused, or undefined if it is allowed.
 *
 * | header | allowed |
 * |---|---|
 * | no Origin | yes: the client is not a page, or is a page of the same origin |
 * | Origin | one of `origins` |
 * | Host, on loopback or with `hosts` | a loopback name with any port (on loopback), or one of `hosts` |
 * | Host, otherwise | any: this address requires a token, which no page has |
 *
 * A page whose name was changed to resolve to 127.0.0.1 (DNS rebinding) still sends its own name as Host.
 */
export function createSourceCheck(
  { host, isLoopback }: Address,
  { hosts, origins }: Sources,
): (host: string | undefined, origin: string | undefined) => string | undefined {
  const own = isLoopback ? [...LOOPBACK, host] : [];
  const known = new Set([...own, ...hosts.map((host) => host.toLowerCase())]);
  return (host, origin) => {
    if (origin !== undefined && !origins.includes(origin)) return "Origin is not allowed";
    if (known.size === 0) return undefined;
    const whole = host?.toLowerCase() ?? "";
    return known.has(whole) || known.has(whole.replace(/:\d+$/, "")) ? undefined : "Host is not allowed";
  };
}
