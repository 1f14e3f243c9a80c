/** Makes spans part of somebody else's trace. @module */
import { type Context, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";
import type { TraceContext } from "../api/tracecontext.ts";

/** Returns what a span is begun in to be part of somebody else's. */
export function contextOf({ traceId, spanId, isSampled }: TraceContext): Context {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
