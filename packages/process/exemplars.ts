/** Traces as exemplars of metrics: registries that may have them, and how one is named. @module */
import { type Histogram, type LabelValues, Registry, type RegistryContentType } from "prom-client";
import type { TraceContext } from "../api/tracecontext.ts";

/** Makes a registry. Exemplars need OpenMetrics, which not every reader of metrics knows: it is for who traces. */
export function createRegistry(isTraced: boolean): Registry {
  const registry: Registry<RegistryContentType> = new Registry();
  if (isTraced) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry as Registry;
}

/** Observes a value. @param exemplar undefined: the histogram has none, see {@link hasExemplars} */
export function observe<Label extends string>(
  histogram: Histogram<Label>,
  labels: LabelValues<Label>,
  value: number,
  exemplar: LabelValues<string> | undefined,
): void {
  if (exemplar) histogram.observe({ labels, value, exemplarLabels: exemplar });
  else histogram.observe(labels, value);
}

/** Tells whether metrics of a registry may have exemplars. */
export function hasExemplars({ contentType }: { contentType: string }): boolean {
  return contentType === Registry.OPENMETRICS_CONTENT_TYPE;
}

/** Returns the labels by which an exemplar names a trace that is recorded; none for any other. */
export function exemplarOf(trace: Pick<TraceContext, "traceId" | "isSampled"> | undefined): LabelValues<string> {
  return trace?.isSampled ? { trace_id: trace.traceId } : {};
}
