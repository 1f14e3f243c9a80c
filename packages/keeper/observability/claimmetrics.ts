/**
 * Metrics of how claims are served: the contract's metrics, and the same times in seconds. Source: Agent Sandbox API,
 * 5.1.
 * @module
 */
import { Counter, Histogram, type LabelValues, type Registry } from "prom-client";
import { exemplarOf, hasExemplars, labelValue, observe, UNKNOWN_NAME } from "../../process/observability.ts";
import type { ClaimView, SandboxView } from "../../summary/views.ts";

/** Records events of claims in the metrics. */
export interface ClaimMetrics {
  bound(claim: ClaimView, sandbox: SandboxView): void;
  firstReady(claim: ClaimView, sandbox: SandboxView | undefined): void;
}

const STARTUP_MS = [100, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 240_000];
const CREATION_MS = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 240_000, 300_000, 600_000];
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const FROM = {
  webhook: "the annotation webhook-first-observed-at",
  controller: "the annotation controller-first-observed-at",
  client: "the annotation client-first-requested-at",
};

/** Maximum number of label sets per metric, because namespaces, templates and pools come and go. */
export const MOST_SERIES = 1000;

type Pair<Label extends string> = { ms: Histogram<Label>; seconds: Histogram<Label>; use: Use<Label> };
/** Records that a set of labels is used. */
type Use<Label extends string> = (labels: Record<Label, string>) => void;

/** Creates the metrics in a registry. If the registry supports exemplars, the claims' traces are exemplars of the durations. */
export function createClaimMetrics(registry: Registry): ClaimMetrics {
  const registers = [registry];
  const enableExemplars = hasExemplars(registry);
  const byTemplate = ["launch_type", "sandbox_template"] as const;
  const pair = <Label extends string>(
    names: [string, string],
    what: string,
    labelNames: readonly Label[],
    ms: number[],
  ): Pair<Label> => {
    const common = { labelNames, enableExemplars, registers };
    const inMs = new Histogram({ ...common, name: names[0], help: `Milliseconds ${what}`, buckets: ms });
    const seconds = new Histogram({ ...common, name: names[1], help: `Seconds ${what}`, buckets: SECONDS });
    return { ms: inMs, seconds, use: createUse([inMs, seconds]) };
  };
  const startup = (start: keyof typeof FROM, ...names: [string, string]) =>
    pair(names, `from ${FROM[start]} of a claim to its first Ready`, byTemplate, STARTUP_MS);
  const startups = {
    webhook: startup("webhook", "agent_sandbox_claim_startup_latency_ms", "hookbox_claim_startup_seconds"),
    controller: startup(
      "controller",
      "agent_sandbox_claim_controller_startup_latency_ms",
      "hookbox_claim_controller_startup_seconds",
    ),
    client: startup("client", "agent_sandbox_client_claim_startup_latency_ms", "hookbox_client_claim_startup_seconds"),
  };
  const creation = pair(
    ["agent_sandbox_creation_latency_ms", "hookbox_sandbox_creation_seconds"],
    "from the creation of a claim's Sandbox to its Ready, both in whole seconds; observed at the claim's first Ready",
    ["namespace", ...byTemplate],
    CREATION_MS,
  );
  const creations = createCounter(registers);
  const use = createUse([creations]);
  return {
    bound(claim, sandbox) {
      const labels = creationLabels(claim, sandbox);
      use(labels);
      creations.inc(labels);
    },
    firstReady(claim, sandbox) {
      const labels = { launch_type: sandbox?.launchType ?? "unknown", sandbox_template: templateOf(sandbox) };
      const exemplar = enableExemplars ? exemplarOf(claim.trace) : undefined;
      for (const start of ["webhook", "controller", "client"] as const) {
        observeBetween(startups[start], labels, claim.starts[start], claim.firstReadyAt, exemplar);
      }
      const { namespace } = claim.regarding;
      observeBetween(creation, { namespace, ...labels }, sandbox?.createdAt, sandbox?.readyAt, exemplar);
    },
  };
}

/**
 * Observes a duration. If a time is missing, or the start is after the end, nothing is observed.
 *
 * @param exemplar undefined: the metrics have none
 */
function observeBetween<Label extends string>(
  { ms, seconds, use }: Pair<Label>,
  labels: Record<Label, string>,
  from: number | undefined,
  to: number | undefined,
  exemplar: LabelValues<string> | undefined,
): void {
  if (from === undefined || to === undefined || to < from) return;
  use(labels);
  observe(ms, labels, to - from, exemplar);
  observe(seconds, labels, (to - from) / 1000, exemplar);
}

/**
 * Limits the label sets to {@link MOST_SERIES}. If there are more, the namespace with the most loses the one that it
 * has not used for longest, so that the templates of one namespace do not displace the series of others. For metrics
 * without namespaces, that is the one not used for longest. A removed series that returns counts from 0, as after a
 * restart, so rates remain correct.
 */
function createUse<Label extends string>(metrics: { remove(labels: Record<Label, string>): void }[]): Use<Label> {
  const used = new Map<string, Record<Label, string>>();
  return (labels) => {
    const key = JSON.stringify(labels);
    used.delete(key);
    used.set(key, labels);
    if (used.size <= MOST_SERIES) return;
    const crowd = largestNamespace(used.values());
    for (const [oldest, dropped] of used) {
      if (namespaceOf(dropped) !== crowd) continue;
      used.delete(oldest);
      for (const metric of metrics) metric.remove(dropped);
      return;
    }
  };
}

/** If two namespaces have the same number, returns the one that comes first. */
function largestNamespace(series: Iterable<Record<string, string>>): string {
  const counts = new Map<string, number>();
  for (const labels of series) counts.set(namespaceOf(labels), (counts.get(namespaceOf(labels)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  for (const [namespace, count] of counts) if (count === most) return namespace;
  return "";
}

function namespaceOf(labels: Record<string, string>): string {
  return labels["namespace"] ?? "";
}

function createCounter(registers: Registry[]) {
  return new Counter({
    name: "agent_sandbox_claim_creation_total",
    help: "Claims that were bound to a Sandbox, by the state of that Sandbox at that moment",
    labelNames: ["namespace", "sandbox_template", "launch_type", "warmpool_name", "pod_condition", "created_by"],
    registers,
  });
}

function creationLabels({ regarding, pool, createdBy }: ClaimView, sandbox: SandboxView) {
  return {
    namespace: regarding.namespace,
    sandbox_template: templateOf(sandbox),
    launch_type: sandbox.launchType,
    warmpool_name: labelValue(pool),
    pod_condition: wasReady(sandbox) ? "ready" : "not_ready",
    created_by: createdBy,
  };
}

/** Returns whether a Sandbox was Ready when it was bound; a Sandbox that was created for its claim never was. */
function wasReady({ launchType, readyAt, assignedAt = Infinity }: SandboxView): boolean {
  return launchType !== "cold" && readyAt !== undefined && readyAt <= assignedAt;
}

function templateOf(sandbox: SandboxView | undefined): string {
  return labelValue(sandbox?.template ?? UNKNOWN_NAME);
}
