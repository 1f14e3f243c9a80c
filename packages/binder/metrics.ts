/** Metrics of the binder, in the Prometheus text format. @module */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { traceContextOf } from "../api/tracecontext.ts";
import { exemplarOf, hasExemplars, observe } from "../process/observability.ts";
import type { Served } from "./state.ts";

export interface BinderMetrics {
  requests: Counter<"method" | "code">;
  leading: Gauge;
  /**
   * Records that a claim got its Sandbox. If the registry supports exemplars, the exemplar is the trace of the claim's
   * client.
   */
  served(served: Served): void;
}

/** Creates the binder's metrics in a registry. */
export function createBinderMetrics(registry: Registry): BinderMetrics {
  const registers = [registry];
  const enableExemplars = hasExemplars(registry);
  const seconds = new Histogram({
    name: "hookbox_binder_claim_seconds",
    help: "From when the binder first saw a claim until a Sandbox was the claim's",
    labelNames: ["launch_type"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    enableExemplars,
    registers,
  });
  return {
    requests: new Counter({
      name: "hookbox_binder_requests_total",
      help: "Requests to the API server, the Lease's included, by HTTP method (WATCH for watches) and status code",
      labelNames: ["method", "code"],
      registers,
    }),
    leading: new Gauge({
      name: "hookbox_binder_leading",
      help: "1 while this process is the leader, which binds claims to Sandboxes",
      registers,
    }),
    served({ kind, seconds: value, claim }) {
      const exemplar = enableExemplars ? exemplarOf(traceContextOf(claim.metadata)) : undefined;
      observe(seconds, { launch_type: kind }, value, exemplar);
    },
  };
}
