/** Reads or creates a request's trace context, and begins a span if the trace is recorded. @module */
import { randomUUID } from "node:crypto";
import { type Span, SpanKind, type Tracer } from "@opentelemetry/api";
import type { IncomingMessage } from "node:http";
import { readTraceparent, type TraceContext } from "../../api/tracecontext.ts";
import { contextOf } from "../../process/parentspan.ts";
import type { Target } from "../destination.ts";

/** The trace of a request, for the log and the sandbox. */
interface Trace {
  /** 32 hex digits. */
  id: string;
  /** Undefined: the router records no span. */
  span: Span | undefined;
  /** Headers to add, as a flat list; `[]`: the request's own headers pass. */
  added: readonly string[];
  /** Names of request headers that do not pass. */
  withheld: readonly string[];
}

const NONE: readonly string[] = [];

/**
 * Reads the request's traceparent, or creates a trace that is not sampled.
 *
 * @param tracer undefined: no spans are recorded
 */
export function traceOf(request: IncomingMessage, target: Target, tracer: Tracer | undefined): Trace {
  const { traceparent } = request.headers;
  const parent = typeof traceparent === "string" ? readTraceparent(traceparent) : undefined;
  if (!parent) return { ...madeUp(), span: undefined, withheld: traceparent === undefined ? NONE : BOTH };
  const span = tracer && parent.isSampled ? beginSpan(tracer, parent, request, target) : undefined;
  if (!span) return { id: parent.traceId, span, added: NONE, withheld: NONE };
  const { traceId, spanId } = span.spanContext();
  return { id: traceId, span, added: ["traceparent", `00-${traceId}-${spanId}-01`], withheld: ["traceparent"] };
}

const BOTH: readonly string[] = ["traceparent", "tracestate"];

function madeUp(): Pick<Trace, "id" | "added"> {
  const id = randomUUID().replaceAll("-", "");
  const span = randomUUID().replaceAll("-", "").slice(16);
  return { id, added: ["traceparent", `00-${id}-${span}-00`] };
}

function beginSpan(
  tracer: Tracer,
  parent: TraceContext,
  { method = "", url = "" }: IncomingMessage,
  { namespace, name, port }: Target,
): Span {
  const attributes = {
    "k8s.namespace.name": namespace,
    "sandbox.name": name,
    "server.port": port,
    "http.request.method": method,
    // Without the query, which may contain secrets.
    "url.path": url.split("?")[0] ?? "",
  };
  return tracer.startSpan(`router ${method}`, { kind: SpanKind.SERVER, attributes }, contextOf(parent));
}
