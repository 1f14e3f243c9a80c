/** Counters of the binder, in Prometheus' text format. @module */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface BinderMetrics {
  requests: Counter<"method" | "code">;
  leading: Gauge;
  /** From when the binder first saw a claim until its Sandbox was the claim's. */
  served: Histogram<"launch_type">;
}

/** Makes a fresh set. */
export function createBinderMetrics(registers: Registry[]): BinderMetrics {
  return {
    requests: new Counter({
      name: "hookbox_binder_requests_total",
      help: "Requests to the API server, the Lease's included, by HTTP method (WATCH for watches) and status code",
      labelNames: ["method", "code"],
      registers,
    }),
    leading: new Gauge({
      name: "hookbox_binder_leading",
      help: "1 while this process is the one that gives claims their Sandboxes",
      registers,
    }),
    served: new Histogram({
      name: "hookbox_binder_claim_seconds",
      help: "From when the binder first saw a claim until a Sandbox was the claim's",
      labelNames: ["launch_type"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
  };
}
