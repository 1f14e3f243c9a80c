/** Makes spans part of an existing trace. @module */
import { type Context, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";
import type { TraceContext } from "../api/tracecontext.ts";

/** Returns the context in which to start a span, so that it belongs to this trace. */
export function contextOf({ traceId, spanId, isSampled }: TraceContext): Context {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
