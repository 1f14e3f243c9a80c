/** Metrics of the keeper in the Prometheus text format, with the build information. @module */
import process from "node:process";
import { Counter, Gauge, type Registry } from "prom-client";
import { type BinderMetrics, createBinderMetrics } from "../binder/metrics.ts";
import { createRegistry } from "../process/observability.ts";
import type { ClaimView } from "../summary/views.ts";
import { type ClaimMetrics, createClaimMetrics } from "./observability/claimmetrics.ts";
import { type PoolFigures, poolMetrics } from "./observability/poolmetrics.ts";
import manifest from "./package.json" with { type: "json" };
import type { Action } from "./reconciler.ts";
import { type MissingPolicy, policyGauge } from "./observability/policymetrics.ts";
import { sandboxGauge, type SortCount } from "./observability/sandboxmetrics.ts";

/** What the leader knows about the objects in the cluster at any moment. */
interface Inventory {
  sorts(): Iterable<SortCount>;
  pools(): Iterable<PoolFigures>;
  policies(): Iterable<MissingPolicy>;
  claims(): Iterable<ClaimView>;
}

/** The metrics of the keeper. `text` returns the body for `/metrics`. */
export interface KeeperMetrics {
  requests: Counter<"method" | "code">;
  actions: Counter<"action">;
  leading: Gauge;
  claims: ClaimMetrics;
  cloudEvents: Counter<"result">;
  cloudEventsWaiting: Gauge;
  /** Metrics of the binder, if it runs in this process. */
  binder: BinderMetrics;
  /** Values of the gauges, read at each scrape; undefined: this process does not lead, and the gauges have no values. */
  inventory: Inventory | undefined;
  text(): Promise<string>;
  contentType: string;
}

/** Creates the metrics in a registry of their own. @param isTraced whether traces of claims are exemplars */
export function createKeeperMetrics(isTraced = false): KeeperMetrics {
  const registry = createRegistry(isTraced);
  const registers = [registry];
  buildInfo(registers);
  sandboxGauge(registers, () => metrics.inventory?.sorts());
  poolMetrics(registers, () => metrics.inventory);
  policyGauge(registers, () => metrics.inventory?.policies());
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
    claims: createClaimMetrics(registry),
    cloudEvents: new Counter({
      name: "hookbox_keeper_cloudevents_total",
      help: "CloudEvents of Sandboxes: delivered, refused by the receiver, dropped, and tries that failed",
      labelNames: ["result" satisfies string],
      registers,
    }),
    cloudEventsWaiting: new Gauge({
      name: "hookbox_keeper_cloudevents_waiting",
      help: "CloudEvents of Sandboxes that the receiver does not have yet",
      registers,
    }),
    binder: createBinderMetrics(registry),
    inventory: undefined,
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
  return metrics;
}

/** Counts an action. The label has underscores instead of spaces. */
export function countAction(metrics: KeeperMetrics, action: Action): void {
  metrics.actions.inc({ action: action.replaceAll(" ", "_") });
}

/** Go's names of architectures, by Node's names. */
const ARCHITECTURES: Record<string, string> = { x64: "amd64", ia32: "386" };

/** Creates the build metric. Commit and date come from the image's environment: HOOKBOX_COMMIT and HOOKBOX_BUILD_DATE. */
function buildInfo(registers: Registry[]): void {
  const labels = {
    git_version: `v${manifest.version}`,
    git_commit: process.env["HOOKBOX_COMMIT"] ?? "unknown",
    build_date: process.env["HOOKBOX_BUILD_DATE"] ?? "unknown",
    // The contract requires this label, but hookbox has no Go.
    go_version: "none",
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${ARCHITECTURES[process.arch] ?? process.arch}`,
  };
  const labelNames = Object.keys(labels);
  new Gauge({ name: "agent_sandbox_build_info", help: "1, with the build in the labels", labelNames, registers })
    .set(labels, 1);
}
