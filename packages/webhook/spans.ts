/**
 * Records a hook's answers as spans of the trace in which their parent was created, until the parent is Ready. After
 * that no client waits for the parent, and the trace would never end.
 * @module
 */
import { type Attributes, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { type TraceContext, traceContextOf } from "../api/tracecontext.ts";
import { contextOf } from "../process/parentspan.ts";

/** An answer as sent. */
interface Answered {
  /** Name of the hook. */
  hook: string;
  request: unknown;
  status: number;
  /** The body, as JSON text. */
  text: string;
  /** When the request came, in milliseconds since the epoch. */
  startTime: number;
}

/** Returns the trace in which the parent of a request was created; undefined: it has none, or it is Ready. */
export function traceOfRequest(request: unknown): TraceContext | undefined {
  const parent = sentParent(request);
  const { metadata, status } = parent as { metadata?: object; status?: { conditions?: unknown } };
  if (!isObject(metadata)) return undefined;
  const ready = readyOf(status);
  const isDone = ready?.status === "True" && ready.observedGeneration === metadata["generation"];
  return isDone ? undefined : traceContextOf(metadata);
}

/** Records an answer as a span of a trace. */
export function recordAnswer(tracer: Tracer, trace: TraceContext, answered: Answered): void {
  const { hook, request, status, text, startTime } = answered;
  const { kind, metadata } = sentParent(request) as { kind?: unknown; metadata?: Record<string, unknown> };
  const attributes: Attributes = {
    "k8s.namespace.name": String(metadata?.["namespace"]),
    "hookbox.parent": `${String(kind)}/${String(metadata?.["name"])}`,
    "http.response.status_code": status,
    "hookbox.children.observed": observedIn(request),
    ...(status === 200 ? said(text) : {}),
  };
  const span = tracer.startSpan(`${hook}/sync`, { kind: SpanKind.SERVER, startTime, attributes }, contextOf(trace));
  if (status >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Returns the span attributes of an answer: the number of children that it wants, and the parent's Ready condition. */
function said(text: string): Attributes {
  const { status, children, attachments } = JSON.parse(text) as {
    status?: { conditions?: unknown };
    children?: object[];
    attachments?: object[];
  };
  const wanted = { "hookbox.children.desired": (children ?? attachments ?? []).length };
  const ready = readyOf(status);
  if (!ready) return wanted;
  const { reason = "", message = "" } = ready;
  return { ...wanted, "hookbox.ready": ready.status, "hookbox.reason": reason, "hookbox.message": message };
}

function observedIn(request: unknown): number {
  const { children, attachments } = isObject(request) ? request : {};
  const groups = Object.values(isObject(children) ? children : isObject(attachments) ? attachments : {});
  return groups.reduce<number>((sum, named) => sum + (isObject(named) ? Object.keys(named).length : 0), 0);
}

function readyOf(status: { conditions?: unknown } | undefined) {
  const conditions = isObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isObject) : [];
  return findCondition(conditions as unknown as Condition[], "Ready");
}

/** Returns the parent of a request (named `object` by a decorator); `{}`: there is none. */
export function sentParent(request: unknown): Json {
  const { parent, object } = isObject(request) ? request : {};
  return isObject(parent) ? parent : isObject(object) ? object : {};
}
