/** What the router counts, in Prometheus' text format. Source of the names: Agent Sandbox API, section 5.5; the rest is ours. @module */
import { STATUS_CODES } from "node:http";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import manifest from "../package.json" with { type: "json" };

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
  exceptions: Counter;
  heldSeconds: Histogram;
  text(): Promise<string>;
  contentType: string;
}

/** Makes a fresh set in a registry of its own. */
export function createRouterMetrics(): RouterMetrics {
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
  }).set({ version: manifest.version }, 1);
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
    exceptions: new Counter({
      name: "sandbox_router_exceptions_total",
      help: "Exceptions that nobody has caught; each has ended one connection",
      registers,
    }),
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

/** Upper bounds in seconds. Source: Agent Sandbox API, section 5.5. */
const BUCKETS = [.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180];

/** A label's values are ours: what clients and sandboxes send would make a series for each. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);
const CODES = new Set([...Object.keys(STATUS_CODES).map(Number), 499]);

/** Counts, and how long they took. */
interface RequestStats {
  /** Methods and codes that HTTP does not know count as `other`. */
  observe(method: string, code: number, namespace: string, seconds: number): void;
  /** Returns `sandbox_router_requests_total` and `sandbox_router_request_duration_seconds`. */
  text(): string;
}

interface Series {
  labels: string;
  count: number;
  sum: number;
  /** For each bound those that took so long, and not so short that the one before has them. */
  buckets: Uint32Array;
}

/** Makes an empty set. */
export function createRequestStats(): RequestStats {
  const all = new Map<string, Series>();
  return {
    observe(anyMethod, anyCode, namespace, seconds) {
      const method = METHODS.has(anyMethod) ? anyMethod : "other";
      const code = CODES.has(anyCode) ? anyCode : "other";
      const key = `${method} ${code} ${namespace}`;
      let series = all.get(key);
      if (!series) {
        const labels = `method="${method}",code="${code}",sandbox_namespace="${namespace}"`;
        all.set(key, series = { labels, count: 0, sum: 0, buckets: new Uint32Array(BUCKETS.length) });
      }
      series.count++;
      series.sum += seconds;
      for (let i = 0; i < BUCKETS.length; i++) {
        if (seconds > (BUCKETS[i] as number)) continue;
        (series.buckets[i] as number)++;
        break;
      }
    },
    text() {
      const total = "sandbox_router_requests_total";
      const duration = "sandbox_router_request_duration_seconds";
      const series = [...all.values()];
      return [
        `# HELP ${total} Requests by method, status code (101 for other protocols, 499 if the client went) and namespace`,
        `# TYPE ${total} counter`,
        ...series.map(({ labels, count }) => `${total}{${labels}} ${count}`),
        `# HELP ${duration} Time from the head of a request to the end of its answer`,
        `# TYPE ${duration} histogram`,
        ...series.flatMap((each) => histogramLines(duration, each)),
        "",
      ].join("\n");
    },
  };
}

function histogramLines(name: string, { labels, count, sum, buckets }: Series): string[] {
  let below = 0;
  const lines = BUCKETS.map((bound, i) => `${name}_bucket{${labels},le="${bound}"} ${below += buckets[i] ?? 0}`);
  return [
    ...lines,
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
