/**
 * Finds out if the cluster enforces NetworkPolicies. Without them, sandboxes reach everything without the proxy, and an
 * answer that refuses a host would be worth nothing. @module
 */
import { connect } from "node:net";
import type { Clock } from "../process/clock.ts";

/**
 * The health port of a proxy is open to no Pod (deploy/egress/proxy.yaml). If this process reaches that of each other
 * proxy so many times in a row, nobody enforces the policy. A policy takes a moment until it applies to a new Pod.
 */
const ENOUGH = 4;
const INTERVAL_MS = 15_000;
const PATIENCE_MS = 2000;

export interface Enforcement {
  /** Why nothing may be allowed; undefined: no reason is known. */
  problem(): string | undefined;
}

/**
 * Checks until `signal` fires. With a single proxy in the namespace, nothing can be found out.
 *
 * @param others returns the addresses of the other proxies of the namespace
 * @param reaches tells whether this process can connect to the health port of an address
 */
export function watchEnforcement(
  others: () => readonly string[],
  reaches: (address: string) => Promise<boolean>,
  clock: Pick<Clock, "setTimeout">,
  signal: AbortSignal,
): Enforcement {
  let reached = 0;
  let cancel = () => {};
  signal.addEventListener("abort", () => cancel(), { once: true });
  const check = async () => {
    const addresses = others();
    const answers = await Promise.all(addresses.map(reaches));
    if (signal.aborted) return;
    if (addresses.length > 0) reached = answers.every(Boolean) ? reached + 1 : 0;
    cancel = clock.setTimeout(() => void check(), INTERVAL_MS);
  };
  void check();
  return {
    problem: () =>
      reached < ENOUGH
        ? undefined
        : "the NetworkPolicy hookbox-egress is missing, or the cluster does not enforce NetworkPolicies",
  };
}

/** Tells whether a TCP connection to this address is accepted. */
export function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PATIENCE_MS });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false)).once("timeout", () => end(false));
  });
}
