/** Counters of the keeper process, in Prometheus' text format. @module */
import { Counter, Gauge, Registry } from "prom-client";
import { type BinderMetrics, createBinderMetrics } from "../binder/metrics.ts";
import type { ClaimView } from "./binding.ts";
import { buildInfo } from "./buildinfo.ts";
import { type ClaimMetrics, createClaimMetrics } from "./claimmetrics.ts";
import { type PoolFigures, poolMetrics } from "./poolmetrics.ts";
import type { Action } from "./report.ts";
import { sandboxGauge, type SortCount } from "./sandboxmetrics.ts";

/** What a leader knows of our objects at any moment. */
export interface Inventory {
  sorts(): Iterable<SortCount>;
  pools(): Iterable<PoolFigures>;
  claims(): Iterable<ClaimView>;
}

/** The metrics of the keeper; `text` gives what `/metrics` answers. */
export interface KeeperMetrics {
  requests: Counter<"method" | "code">;
  actions: Counter<"action">;
  leading: Gauge;
  claims: ClaimMetrics;
  /** Of the binder, if it runs in this process. */
  binder: BinderMetrics;
  /** What gauges are made from at each scrape; undefined: this process does not lead, and they have no values. */
  inventory: Inventory | undefined;
  text(): Promise<string>;
  contentType: string;
}

/** Makes a fresh set in a registry of its own. */
export function createKeeperMetrics(): KeeperMetrics {
  const registry = new Registry();
  const registers = [registry];
  buildInfo(registers);
  sandboxGauge(registers, () => metrics.inventory?.sorts());
  poolMetrics(registers, () => metrics.inventory);
  const metrics: KeeperMetrics = {
    requests: new Counter({
      name: "hookbox_keeper_requests_total",
      help: "Requests to the API server, the Lease's included, by HTTP method (WATCH for watches) and status code",
      labelNames: ["method", "code"],
      registers,
    }),
    actions: new Counter({
      name: "hookbox_keeper_actions_total",
      help: "What was done to our objects and their children",
      labelNames: ["action" satisfies string],
      registers,
    }),
    leading: new Gauge({
      name: "hookbox_keeper_leading",
      help: "1 while this process is the one that acts",
      registers,
    }),
    claims: createClaimMetrics(registers),
    binder: createBinderMetrics(registers),
    inventory: undefined,
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
  return metrics;
}

/** Counts an action under a name without spaces. */
export function countAction(metrics: KeeperMetrics, action: Action): void {
  metrics.actions.inc({ action: action.replaceAll(" ", "_") });
}
