/** Uses traces as exemplars of metrics. @module */
import { type Histogram, type LabelValues, Registry, type RegistryContentType } from "prom-client";
import type { TraceContext } from "../api/tracecontext.ts";

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
