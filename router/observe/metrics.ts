/** What the router counts, in Prometheus' text format. Source of the names: Agent Sandbox API, section 5.5; the rest is ours. @module */
import { readFileSync } from "node:fs";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createRequestStats, type RequestStats } from "./requeststats.ts";

/** The metrics of one router; `text` gives what `/metrics` answers. */
export interface RouterMetrics {
  requests: RequestStats;
  /** What is so at the moment: requests and open streams, and those among them that wait for a sandbox. */
  now: { inflight: number; held: number };
  upstreamErrors: Counter<"sandbox_namespace" | "reason">;
  upstreamRetries: Counter<"sandbox_namespace">;
  decisions: Counter<"sandbox_namespace" | "decision">;
  certReloads: Counter<"outcome">;
  wakes: Counter<"sandbox_namespace">;
  suspensions: Counter<"sandbox_namespace" | "reason">;
  heldSeconds: Histogram;
  text(): Promise<string>;
  contentType: string;
}

/** Makes a fresh set in a registry of its own. */
export function createRouterMetrics(): RouterMetrics {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const registry = new Registry();
  const registers = [registry];
  const requests = createRequestStats();
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `sandbox_router_${name}`, help, labelNames, registers });
  const now = { inflight: 0, held: 0 };
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `sandbox_router_${name}`,
      help,
      registers,
      collect: function () {
        this.set(value());
      },
    });
  gauge("inflight_requests", "Requests and open streams", () => now.inflight);
  gauge("held_requests", "Requests that wait for a sandbox", () => now.held);
  new Gauge({
    name: "sandbox_router_build_info",
    help: "1, with what runs",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  return {
    requests,
    now,
    upstreamErrors: counter("upstream_errors_total", "Requests that no sandbox answered", [
      "sandbox_namespace",
      "reason",
    ]),
    upstreamRetries: counter("upstream_retries_total", "Further tries to connect to a sandbox", ["sandbox_namespace"]),
    decisions: counter("authz_decisions_total", "Who was let in", ["sandbox_namespace", "decision"]),
    certReloads: counter("cert_reloads_total", "Times that the certificate was read anew", ["outcome"]),
    wakes: counter("wakes_total", "Sandboxes that requests have woken", ["sandbox_namespace"]),
    suspensions: counter("suspensions_total", "Sandboxes suspended for being idle", ["sandbox_namespace", "reason"]),
    heldSeconds: new Histogram({
      name: "sandbox_router_hold_duration_seconds",
      help: "How long requests waited for a sandbox",
      buckets: [.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120],
      registers,
    }),
    text: async () => requests.text() + await registry.metrics(),
    contentType: registry.contentType,
  };
}
