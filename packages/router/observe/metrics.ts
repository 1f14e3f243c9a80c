/**
 * Collects the router's metrics in Prometheus text format. Source of the names: Agent Sandbox API, section 5.5; further
 * metrics are hookbox's own.
 * @module
 */
import { STATUS_CODES } from "node:http";
import { Counter, Gauge, Histogram } from "prom-client";
import { createRegistry, exemplarOf, observe } from "../../process/observability.ts";
import manifest from "../package.json" with { type: "json" };

/** The metrics of one router; `text` returns the answer of `/metrics`. */
export interface RouterMetrics {
  requests: RequestStats;
  /** Current values: open requests and streams, and how many of them wait for a sandbox. */
  now: { inflight: number; held: number };
  upstreamErrors: Counter<"sandbox_namespace" | "reason">;
  upstreamRetries: Counter<"sandbox_namespace">;
  decisions: Counter<"sandbox_namespace" | "decision">;
  certReloads: Counter<"outcome">;
  wakes: Counter<"sandbox_namespace">;
  suspensions: Counter<"sandbox_namespace" | "reason">;
  exceptions: Counter;
  /** Records how long a request has waited. @param traceId as for {@link RequestStats} */
  held(seconds: number, traceId: string | undefined): void;
  text(): Promise<string>;
  contentType: string;
}

/**
 * Creates a set of metrics with its own registry.
 *
 * @param isTraced true: durations have the requests' traces as exemplars
 */
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

/**
 * Label values come from these sets only: arbitrary values from clients and sandboxes would each create a time series.
 */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);
const CODES = new Set([...Object.keys(STATUS_CODES).map(Number), 499]);

/** Counts requests and measures their duration. */
interface RequestStats {
  /**
   * Records a request. Unknown methods and codes count as `other`.
   *
   * @param traceId of a recorded trace; undefined: there is none
   */
  observe(method: string, code: number, namespace: string, seconds: number, traceId?: string): void;
  /** Returns `sandbox_router_requests_total` and `sandbox_router_request_duration_seconds`. */
  text(): string;
}

interface Series {
  labels: string;
  count: number;
  sum: number;
  /** Requests per bucket: durations up to its bound and above the bound of the bucket before it. */
  buckets: Uint32Array;
  /** For each bucket, its last request with a trace, as an exemplar. */
  exemplars: Map<number, string>;
}

/** Creates an empty set. @param isTraced true: the format is OpenMetrics, with traces as exemplars; else Prometheus */
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
      // In OpenMetrics, the name of a counter has no "_total" in HELP and TYPE.
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
