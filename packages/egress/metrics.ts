/** Metrics of the egress policy, in the Prometheus text format. No label has a value that a sandbox chooses. @module */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type Answer, REFUSAL_CAUSES, type RefusalCause } from "./answer.ts";
import { ENFORCEMENT_STATES, type EnforcementState } from "./enforcement.ts";

export interface EgressMetrics {
  /** Records an answer to a question of the proxy. */
  answered(answer: Answer, seconds: number): void;
  /** Records a request that is refused. */
  refused(cause: RefusalCause): void;
  /** Records how many connections of sandboxes are open. */
  connected(count: number): void;
  /** Records an answer of the API server. */
  requested(method: string, status: number): void;
  text(): Promise<string>;
  contentType: string;
}

/** The proxy reports its connections every 5 seconds. If it has not for so long, nobody knows them. */
const STALE_MS = 30_000;

/** @param now milliseconds of a clock that only goes forward */
export function createEgressMetrics(
  registry: Registry,
  enforcement: () => EnforcementState,
  now: () => number,
): EgressMetrics {
  const registers = [registry];
  const allowed = new Counter({
    name: "hookbox_egress_allowed_total",
    help: "Connections of sandboxes, and decrypted requests in them, that were allowed",
    registers,
  });
  const refused = new Counter({
    name: "hookbox_egress_refused_total",
    help: "Connections and requests of sandboxes that were refused, by reason",
    labelNames: ["reason"],
    registers,
  });
  // An alert sees an increase only if there was a value before.
  for (const reason of REFUSAL_CAUSES) refused.inc({ reason }, 0);
  const seconds = new Histogram({
    name: "hookbox_egress_decision_seconds",
    help: "How long a connection or a request waited for the egress policy, DNS and the API server included",
    buckets: [.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10],
    registers,
  });
  const requests = new Counter({
    name: "hookbox_egress_requests_total",
    help: "Requests to the API server, by HTTP method (WATCH for watches) and status code",
    labelNames: ["method", "code"],
    registers,
  });
  new Gauge({
    name: "hookbox_egress_network_policies",
    help: "1 for what is known: the cluster enforces NetworkPolicies, does not, or neither is known",
    labelNames: ["state"],
    registers,
    collect() {
      for (const state of ENFORCEMENT_STATES) this.set({ state }, state === enforcement() ? 1 : 0);
    },
  });
  let open: { count: number; at: number } | undefined;
  new Gauge({
    name: "hookbox_egress_open_connections",
    help: "Connections of sandboxes to the proxy; no value if the proxy does not report them",
    registers,
    collect() {
      this.reset();
      if (open && now() - open.at < STALE_MS) this.set(open.count);
      else this.remove();
    },
  });
  return {
    answered(answer, value) {
      seconds.observe(value);
      if (answer.allowed) allowed.inc();
      else refused.inc({ reason: answer.cause });
    },
    refused: (reason) => refused.inc({ reason }),
    connected(count) {
      open = { count, at: now() };
    },
    requested: (method, status) => requests.inc({ method, code: String(status) }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
