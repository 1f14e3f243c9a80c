/** What the router counts, in Prometheus' text format. Source of the names: Agent Sandbox API, section 5.5; the rest is ours. @module */
import { STATUS_CODES } from "node:http";
import { Counter, Gauge, Histogram } from "prom-client";
import { createRegistry, exemplarOf, observe } from "../../process/exemplars.ts";
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
  /** Observes how long a request has waited. @param traceId as for {@link RequestStats} */
  held(seconds: number, traceId: string | undefined): void;
  text(): Promise<string>;
  contentType: string;
}

/** Makes a fresh set in a registry of its own. @param isTraced requests' traces are exemplars of how long they took */
export function createRouterMetrics(isTraced = false): RouterMetrics {
  const registry = createRegistry(isTraced);
  const registers = [registry];
  const requests = createRequestStats(isTraced);
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
  const heldSeconds = new Histogram({
    name: "sandbox_router_hold_duration_seconds",
    help: "How long requests waited for a sandbox",
    buckets: [.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120],
    enableExemplars: isTraced,
    registers,
  });
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
    held(value, traceId) {
      const trace = traceId === undefined ? undefined : { traceId, isSampled: true };
      observe(heldSeconds, {}, value, isTraced ? exemplarOf(trace) : undefined);
    },
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
  /** Methods and codes that HTTP does not know count as `other`. @param traceId of a trace that is recorded; undefined: none is */
  observe(method: string, code: number, namespace: string, seconds: number, traceId?: string): void;
  /** Returns `sandbox_router_requests_total` and `sandbox_router_request_duration_seconds`. */
  text(): string;
}

interface Series {
  labels: string;
  count: number;
  sum: number;
  /** For each bound those that took so long, and not so short that the one before has them. */
  buckets: Uint32Array;
  /** The last request of a bucket that was part of a trace, as an exemplar. */
  exemplars: Map<number, string>;
}

/** Makes an empty set. @param isTraced it is written as OpenMetrics, with traces as exemplars; else as Prometheus has it */
export function createRequestStats(isTraced = false): RequestStats {
  const all = new Map<string, Series>();
  return {
    observe(anyMethod, anyCode, namespace, seconds, traceId) {
      const method = METHODS.has(anyMethod) ? anyMethod : "other";
      const code = CODES.has(anyCode) ? anyCode : "other";
      const key = `${method} ${code} ${namespace}`;
      let series = all.get(key);
      if (!series) {
        const labels = `method="${method}",code="${code}",sandbox_namespace="${namespace}"`;
        all.set(
          key,
          series = { labels, count: 0, sum: 0, buckets: new Uint32Array(BUCKETS.length), exemplars: new Map() },
        );
      }
      series.count++;
      series.sum += seconds;
      const place = BUCKETS.findIndex((bound) => seconds <= bound);
      if (place >= 0) (series.buckets[place] as number)++;
      if (isTraced && traceId !== undefined) {
        series.exemplars.set(place < 0 ? BUCKETS.length : place, exemplar(traceId, seconds, Date.now()));
      }
    },
    text() {
      const requests = "sandbox_router_requests";
      const total = `${requests}_total`;
      // OpenMetrics names a counter without its ending.
      const counter = isTraced ? requests : total;
      const duration = "sandbox_router_request_duration_seconds";
      const series = [...all.values()];
      return [
        `# HELP ${counter} Requests by method, status code (101 for other protocols, 499 if the client went) and namespace`,
        `# TYPE ${counter} counter`,
        ...series.map(({ labels, count }) => `${total}{${labels}} ${count}`),
        `# HELP ${duration} Time from the head of a request to the end of its answer`,
        `# TYPE ${duration} histogram`,
        ...series.flatMap((each) => histogramLines(duration, each)),
        "",
      ].join("\n");
    },
  };
}

/** Source: https://prometheus.io/docs/specs/om/open_metrics_spec/, section "Exemplars". */
function exemplar(traceId: string, seconds: number, now: number): string {
  return ` # {trace_id="${traceId}"} ${seconds} ${now / 1000}`;
}

function histogramLines(name: string, { labels, count, sum, buckets, exemplars }: Series): string[] {
  let below = 0;
  const line = (bound: number | string, so: number, i: number) =>
    `${name}_bucket{${labels},le="${bound}"} ${so}${exemplars.get(i) ?? ""}`;
  return [
    ...BUCKETS.map((bound, i) => line(bound, below += buckets[i] ?? 0, i)),
    line("+Inf", count, BUCKETS.length),
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
