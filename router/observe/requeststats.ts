/** Requests by method, code and namespace, in Prometheus' text format: prom-client would cost each request as much as the rest. @module */
import { STATUS_CODES } from "node:http";

/** Upper bounds in seconds. Source: Agent Sandbox API, section 5.5. */
const BUCKETS = [.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180];

/** A label's values are ours: what clients and sandboxes send would make a series for each. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);
const CODES = new Set([...Object.keys(STATUS_CODES).map(Number), 499]);

/** Counts, and how long they took. */
export interface RequestStats {
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
