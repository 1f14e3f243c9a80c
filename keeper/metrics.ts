/** Counters of the keeper process, in Prometheus' text format. @module */
import { Counter, Gauge, Registry } from "prom-client";
import type { Action } from "./report.ts";

/** The metrics of the keeper; `text` gives what `/metrics` answers. */
export interface KeeperMetrics {
  requests: Counter<"method" | "code">;
  actions: Counter<"action">;
  leading: Gauge;
  text(): Promise<string>;
  contentType: string;
}

/** Makes a fresh set in a registry of its own. */
export function createKeeperMetrics(): KeeperMetrics {
  const registry = new Registry();
  const registers = [registry];
  return {
    requests: new Counter({
      name: "hookbox_keeper_requests_total",
      help: "Requests to the API server, the Lease's included, by HTTP method (WATCH for watches) and status code",
      labelNames: ["method", "code"],
      registers,
    }),
    actions: new Counter({
      name: "hookbox_keeper_actions_total",
      help: "What was done to Sandboxes and their children",
      labelNames: ["action" satisfies string],
      registers,
    }),
    leading: new Gauge({
      name: "hookbox_keeper_leading",
      help: "1 while this process is the one that acts",
      registers,
    }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Counts an action under a name without spaces. */
export function countAction(metrics: KeeperMetrics, action: Action): void {
  metrics.actions.inc({ action: action.replaceAll(" ", "_") });
}
