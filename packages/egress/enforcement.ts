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
const PROBLEM = "the NetworkPolicy hookbox-egress is missing, or the cluster does not enforce NetworkPolicies";

/** Longest time between two reports of a state that does not change. */
const REPORT_MS = 300_000;

/** What is known: with a single proxy in the namespace, nothing. */
export const ENFORCEMENT_STATES = ["enforced", "not_enforced", "unknown"] as const;
export type EnforcementState = typeof ENFORCEMENT_STATES[number];

export interface Enforcement {
  state(): EnforcementState;
  /** Why nothing may be allowed; undefined: no reason is known. */
  problem(): string | undefined;
}

/**
 * Checks until `signal` fires.
 *
 * @param others returns the addresses of the other proxies of the namespace
 * @param reaches tells whether this process can connect to the health port of an address
 * @param report gets the state when it changes, and every five minutes
 */
export function watchEnforcement(
  others: () => readonly string[],
  reaches: (address: string) => Promise<boolean>,
  clock: Pick<Clock, "setTimeout" | "now">,
  signal: AbortSignal,
  report: (state: EnforcementState, problem: string | undefined) => void,
): Enforcement {
  let reached = 0;
  let state: EnforcementState = "unknown";
  let reported: { state: EnforcementState; at: number } | undefined;
  const problem = () => state === "not_enforced" ? PROBLEM : undefined;
  let cancel = () => {};
  signal.addEventListener("abort", () => cancel(), { once: true });
  const check = async () => {
    const addresses = others();
    const answers = await Promise.all(addresses.map(reaches));
    if (signal.aborted) return;
    if (addresses.length > 0) {
      reached = answers.every(Boolean) ? reached + 1 : 0;
      state = reached >= ENOUGH ? "not_enforced" : reached === 0 ? "enforced" : "unknown";
    }
    if (reported?.state !== state || clock.now() - reported.at >= REPORT_MS) {
      reported = { state, at: clock.now() };
      report(state, problem());
    }
    cancel = clock.setTimeout(() => void check(), INTERVAL_MS);
  };
  void check();
  return { state: () => state, problem };
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
