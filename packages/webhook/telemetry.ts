/**
 * Metrics of a server of hooks, and its answers as spans of the trace in which their parent was created, until the
 * parent is Ready. After that no client waits for the parent, and the trace would never end.
 * @module
 */
import { type Attributes, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { Counter, Gauge, Histogram } from "prom-client";
import { type Condition, findCondition } from "../api/objects/conditions.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { type TraceContext, traceContextOf } from "../api/tracecontext.ts";
import { contextOf, createRegistry } from "../process/observability.ts";

/** The metrics of the hook server. `text` returns the body for `/metrics`. */
export interface HookMetrics {
  requests: Counter<"hook" | "endpoint" | "code">;
  duration: Histogram<"hook" | "endpoint">;
  /** Size of request bodies, and of answers with status 200. */
  bytes: Counter<"hook" | "endpoint" | "direction">;
  inFlight: Gauge<"hook">;
  refusals: Counter<"hook">;
  /** Children that answers have deleted or ended (`losses`), and those that were kept for now (`held`), counted at each try. */
  losses: Counter<"hook">;
  held: Counter<"hook">;
  /** Exchanges that are missing in a recording, by cause. */
  unrecorded: Counter<"cause">;
  text(): Promise<string>;
  contentType: string;
}

/**
 * Creates the metrics in a registry of their own, so that two apps in one process do not conflict.
 *
 * @param isTraced whether durations have traces as exemplars
 */
export function createHookMetrics(isTraced = false): HookMetrics {
  const registry = createRegistry(isTraced);
  const registers = [registry];
  return {
    requests: new Counter({
      name: "hookbox_hook_requests_total",
      help: "Requests answered, by HTTP status code",
      labelNames: ["hook", "endpoint", "code"],
      registers,
    }),
    duration: new Histogram({
      name: "hookbox_hook_request_duration_seconds",
      help: "Seconds from the first byte of a request to its answer",
      labelNames: ["hook", "endpoint"],
      enableExemplars: isTraced,
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    bytes: new Counter({
      name: "hookbox_hook_body_bytes_total",
      help: "Bytes of bodies: of requests (in) and of good answers (out)",
      labelNames: ["hook", "endpoint", "direction"],
      registers,
    }),
    inFlight: new Gauge({
      name: "hookbox_hook_requests_in_flight",
      help: "Requests being answered",
      labelNames: ["hook"],
      registers,
    }),
    refusals: new Counter({
      name: "hookbox_hook_guard_refusals_total",
      help: "Answers held back by the guard: they would have deleted, changed, made or said what it does not allow",
      labelNames: ["hook"],
      registers,
    }),
    losses: new Counter({
      name: "hookbox_hook_losses_total",
      help: "Children that answers have deleted, drained, suspended or let expire",
      labelNames: ["hook"],
      registers,
    }),
    held: new Counter({
      name: "hookbox_hook_losses_held_total",
      help: "Attempts to do so that were put off, because more would have gone than --max-losses-per-minute allows",
      labelNames: ["hook"],
      registers,
    }),
    unrecorded: new Counter({
      name: "hookbox_hook_unrecorded_total",
      help: "Requests that the recording lacks: too many waited for the disk (backlog), or a write failed (write)",
      labelNames: ["cause"],
      registers,
    }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

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
    ...(status === 200 ? answerAttributes(text) : {}),
  };
  const span = tracer.startSpan(`${hook}/sync`, { kind: SpanKind.SERVER, startTime, attributes }, contextOf(trace));
  if (status >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Returns the span attributes of an answer: the number of children that it wants, and the parent's Ready condition. */
function answerAttributes(text: string): Attributes {
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
