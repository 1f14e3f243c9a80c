/** Metrics of a hook process in the Prometheus text format. @module */
import { Counter, Gauge, Histogram } from "prom-client";
import { createRegistry } from "./exemplars.ts";

/** The metrics of the hook server. `text` returns the body for `/metrics`. */
export interface HookMetrics {
  requests: Counter<"hook" | "endpoint" | "code">;
  duration: Histogram<"hook" | "endpoint">;
  /** Size of request bodies, and of answers with status 200. */
  bytes: Counter<"hook" | "endpoint" | "direction">;
  inFlight: Gauge<"hook">;
  refusals: Counter<"hook">;
  /** Children that answers have deleted or ended (`losses`), and those that were kept for now (`held`), counted at each try. */
  losses: Counter<"hook">;
  held: Counter<"hook">;
  /** Exchanges that are missing in a recording, by cause. */
  unrecorded: Counter<"cause">;
  text(): Promise<string>;
  contentType: string;
}

/**
 * Creates the metrics in a registry of their own, so that two apps in one process do not conflict.
 *
 * @param isTraced whether durations have traces as exemplars
 */
export function createHookMetrics(isTraced = false): HookMetrics {
  const registry = createRegistry(isTraced);
  const registers = [registry];
  return {
    requests: new Counter({
      name: "hookbox_hook_requests_total",
      help: "Requests answered, by HTTP status code",
      labelNames: ["hook", "endpoint", "code"],
      registers,
    }),
    duration: new Histogram({
      name: "hookbox_hook_request_duration_seconds",
      help: "Seconds from the first byte of a request to its answer",
      labelNames: ["hook", "endpoint"],
      enableExemplars: isTraced,
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    bytes: new Counter({
      name: "hookbox_hook_body_bytes_total",
      help: "Bytes of bodies: of requests (in) and of good answers (out)",
      labelNames: ["hook", "endpoint", "direction"],
      registers,
    }),
    inFlight: new Gauge({
      name: "hookbox_hook_requests_in_flight",
      help: "Requests being answered",
      labelNames: ["hook"],
      registers,
    }),
    refusals: new Counter({
      name: "hookbox_hook_guard_refusals_total",
      help: "Answers held back by the guard: they would have deleted, changed, made or said what it does not allow",
      labelNames: ["hook"],
      registers,
    }),
    losses: new Counter({
      name: "hookbox_hook_losses_total",
      help: "Children that answers have deleted, drained, suspended or let expire",
      labelNames: ["hook"],
      registers,
    }),
    held: new Counter({
      name: "hookbox_hook_losses_held_total",
      help: "Attempts to do so that were put off, because more would have gone than --max-losses-per-minute allows",
      labelNames: ["hook"],
      registers,
    }),
    unrecorded: new Counter({
      name: "hookbox_hook_unrecorded_total",
      help: "Requests that the recording lacks: too many waited for the disk (backlog), or a write failed (write)",
      labelNames: ["cause"],
      registers,
    }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
