/**
 * Reads a W3C trace context from headers and annotations. Source: https://www.w3.org/TR/trace-context/, section 3.2.
 * @module
 */
import type { ObjectMeta } from "./objects/objects.ts";
import { TRACE_CONTEXT_ANNOTATION } from "./objects/keys.ts";

/** The span to which new spans belong. */
export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Whether its trace is recorded. */
  isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer annotations are ignored. */
const LONGEST = 4096;

/** Reads a traceparent header; undefined: it is not valid. */
export function readTraceparent(text: string): TraceContext | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  const isSome = /[1-9a-f]/;
  if (!isSome.test(traceId) || !isSome.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Reads from an object's annotation the trace in which the object was created; undefined: absent or not valid. */
export function traceContextOf({ annotations }: Pick<ObjectMeta, "annotations">): TraceContext | undefined {
  const text = annotations?.[TRACE_CONTEXT_ANNOTATION];
  if (typeof text !== "string" || text.length > LONGEST) return undefined;
  try {
    const carrier = JSON.parse(text) as { traceparent?: unknown } | null;
    return typeof carrier?.traceparent === "string" ? readTraceparent(carrier.traceparent) : undefined;
  } catch {
    return undefined;
  }
}
