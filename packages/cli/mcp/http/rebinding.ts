/** Keeps web pages out: what their requests say of where they come from and where they go. Pure. @module */
import type { Address } from "./address.ts";

/** Hosts and origins that are let in. */
export interface Sources {
  /** Beside the names of loopback, where the server listens there. */
  hosts: readonly string[];
  /** Pages that may use the server, such as `https://agents.example`. */
  origins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Makes the check; it returns why a request is refused, undefined if it is not.
 *
 * | header | let in |
 * |---|---|
 * | Origin absent | yes: no page sends it, or its browser tells the page's own origin |
 * | Origin present | one of `origins` |
 * | Host, on loopback or with `hosts` | a name of loopback with any port (on loopback), or one of `hosts` |
 * | Host, elsewhere without `hosts` | any: a token is needed there, which no page has |
 *
 * A page whose name has been bound to 127.0.0.1 (DNS rebinding) still sends its own name as Host.
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
