/** Traces as exemplars of metrics: registries that may have them, and how one is named. @module */
import { type LabelValues, Registry, type RegistryContentType } from "prom-client";
import type { TraceContext } from "../api/tracecontext.ts";

/** Makes a registry. Exemplars need OpenMetrics, which not every reader of metrics knows: it is for who traces. */
export function createRegistry(isTraced: boolean): Registry {
  const registry: Registry<RegistryContentType> = new Registry();
  if (isTraced) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry as Registry;
}

/** Tells whether metrics of a registry may have exemplars. */
export function hasExemplars({ contentType }: { contentType: string }): boolean {
  return contentType === Registry.OPENMETRICS_CONTENT_TYPE;
}

/** Returns the labels by which an exemplar names a trace that is recorded; none for any other. */
export function exemplarOf(trace: TraceContext | undefined): LabelValues<string> {
  return trace?.isSampled ? { trace_id: trace.traceId } : {};
}
