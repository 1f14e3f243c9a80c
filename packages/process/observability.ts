/** What a process reports about itself: probes, metrics, and the traces to which metrics and spans belong. @module */
import { type Context, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";
import { Hono } from "hono";
import { type Histogram, type LabelValues, Registry, type RegistryContentType } from "prom-client";
import type { TraceContext } from "../api/tracecontext.ts";

/** Metrics in a text format. */
interface TextMetrics {
  text(): Promise<string>;
  contentType: string;
}

/**
 * Creates the app: `/healthz`, `/readyz`, and `/metrics` if there are metrics.
 *
 * @param notReady the body of `/readyz` with status 503
 */
export function createHealthApp(ready: () => boolean, metrics?: TextMetrics, notReady = "not ready"): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", (c) => ready() ? c.text("ok") : c.text(notReady, 503));
  if (metrics) {
    app.get("/metrics", async (c) => c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType }));
  }
  return app;
}

/**
 * Creates a registry. If `isTraced` is true, it supports exemplars. They need OpenMetrics, which not every reader of
 * metrics supports, so they are only for processes that trace.
 */
export function createRegistry(isTraced: boolean): Registry {
  const registry: Registry<RegistryContentType> = new Registry();
  if (isTraced) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry as Registry;
}

/** Observes a value. @param exemplar undefined if the histogram has no exemplars, see {@link hasExemplars} */
export function observe<Label extends string>(
  histogram: Histogram<Label>,
  labels: LabelValues<Label>,
  value: number,
  exemplar: LabelValues<string> | undefined,
): void {
  if (exemplar) histogram.observe({ labels, value, exemplarLabels: exemplar });
  else histogram.observe(labels, value);
}

/** Returns whether the metrics of a registry may have exemplars. */
export function hasExemplars({ contentType }: { contentType: string }): boolean {
  return contentType === Registry.OPENMETRICS_CONTENT_TYPE;
}

/** Returns the exemplar's labels for a trace that is sampled; none for any other. */
export function exemplarOf(trace: Pick<TraceContext, "traceId" | "isSampled"> | undefined): LabelValues<string> {
  return trace?.isSampled ? { trace_id: trace.traceId } : {};
}

/** Returns the context in which to start a span, so that it belongs to this trace. */
export function contextOf({ traceId, spanId, isSampled }: TraceContext): Context {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Label value for an unknown name. Source: Agent Sandbox API, 5.1. */
export const UNKNOWN_NAME = "__unknown__";

/** No object of Kubernetes has a longer name. */
const LONGEST_NAME = 253;

/**
 * Returns a name as the value of a label. A name that is too long for any object, such as an annotation of a megabyte,
 * counts as unknown.
 */
export function labelValue(name: string): string {
  return name.length > LONGEST_NAME ? UNKNOWN_NAME : name;
}
