/** Records every request from its beginning to its end, for metrics, access log, traces and idle suspension. @module */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { readTraceparent, type TraceContext } from "../../api/tracecontext.ts";
import { contextOf } from "../../process/observability.ts";
import type { AddressOf } from "../access/clientaddress.ts";
import type { Target } from "../destination.ts";
import { isRefusal } from "../refusal.ts";
import type { RouterMetrics } from "./metrics.ts";

/** What is known about a request; filled in step by step. */
export interface RequestRecord {
  request: IncomingMessage;
  /** Address of the client. */
  address: string;
  startedAt: number;
  target: Target | undefined;
  /** The Sandbox exists, so its namespace may be used as a label. */
  isKnown: boolean;
  client: string;
  traceId: string;
  /** Undefined: no span is recorded. */
  span: Span | undefined;
  heldMs: number;
}

/** Receives the beginning and end of requests that were forwarded to a sandbox. */
interface TrafficListener {
  begun(target: Target): void;
  ended(target: Target): void;
}

export interface Observer {
  begin(request: IncomingMessage): RequestRecord;
  /** The request is admitted, and its target is known. */
  passed(record: RequestRecord, target: Target, client: string, isKnown: boolean): void;
  /** The gate has decided; `namespace` is empty if the Sandbox is not known. */
  decided(namespace: string, outcome: object): void;
  /** The request has waited for its sandbox for `ms` milliseconds. */
  held(record: RequestRecord, ms: number): void;
  /**
   * The request has ended. `status` is what the client got: 101 for a protocol switch, 499 if it disconnected before.
   */
  end(record: RequestRecord, status: number): void;
}

interface ObserverParts {
  metrics: RouterMetrics;
  /** Undefined: there is no access log. */
  log: AccessLog | undefined;
  traffic: TrafficListener;
  addressOf: AddressOf;
}

/** Creates the observer. */
export function createObserver({ metrics, log, traffic, addressOf }: ObserverParts): Observer {
  return {
    begin(request) {
      metrics.now.inflight++;
      const startedAt = performance.now();
      const address = addressOf(request);
      return {
        request,
        address,
        startedAt,
        target: undefined,
        isKnown: false,
        client: "",
        traceId: "",
        span: undefined,
        heldMs: 0,
      };
    },
    passed(record, target, client, isKnown) {
      Object.assign(record, { target, client, isKnown });
      traffic.begun(target);
    },
    decided(namespace, outcome) {
      const decision = !isRefusal(outcome) ? "allow" : outcome.status >= 500 ? "error" : "deny";
      metrics.decisions.inc({ sandbox_namespace: namespace, decision });
    },
    held(record, ms) {
      record.heldMs = ms;
      record.span?.addEvent("woken", { "hookbox.held_ms": Math.round(ms) });
      metrics.held(ms / 1000, traceIdOf(record));
    },
    end(record, status) {
      metrics.now.inflight--;
      const { request, startedAt, target, isKnown } = record;
      const ms = performance.now() - startedAt;
      const namespace = target && isKnown ? target.namespace : "";
      metrics.requests.observe(request.method ?? "", status, namespace, ms / 1000, traceIdOf(record));
      record.span?.setAttribute("http.response.status_code", status);
      if (status >= 500) record.span?.setStatus({ code: SpanStatusCode.ERROR });
      record.span?.end();
      log?.add(record, status, ms);
      if (target) traffic.ended(target);
    },
  };
}

/** Returns the ID of the recorded trace; undefined: none is recorded. */
function traceIdOf({ span }: RequestRecord): string | undefined {
  return span?.spanContext().traceId;
}

/** The access log. */
interface AccessLog {
  add(record: RequestRecord, status: number, ms: number): void;
  /** Writes the buffered lines. */
  flush(): void;
}

const FLUSH_MS = 200;
const MOST_LINES = 2000;

/**
 * Creates the log; `write` gets complete lines with their line ends. Queries are never logged: they may contain a token.
 */
export function createAccessLog(write: (text: string) => void): AccessLog {
  let lines: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0) return;
    const text = `${lines.join("\n")}\n`;
    lines = [];
    write(text);
  };
  return {
    flush,
    add({ request, address, target, client, traceId, heldMs }, status, ms) {
      const { url = "", method, httpVersion } = request;
      const query = url.indexOf("?");
      lines.push(JSON.stringify({
        time: new Date().toISOString(),
        level: "info",
        message: "Request",
        method,
        path: query < 0 ? url : url.slice(0, query),
        status,
        durationMs: Math.round(ms * 10) / 10,
        namespace: target?.namespace,
        name: target?.name,
        port: target?.port,
        client: client || `address:${address}`,
        http: httpVersion,
        traceId,
        ...(heldMs === 0 ? {} : { heldMs: Math.round(heldMs) }),
      }));
      if (lines.length >= MOST_LINES) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
  };
}

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
  if (!parent) return { ...createTrace(), span: undefined, withheld: traceparent === undefined ? NONE : BOTH };
  const span = tracer && parent.isSampled ? beginSpan(tracer, parent, request, target) : undefined;
  if (!span) return { id: parent.traceId, span, added: NONE, withheld: NONE };
  const { traceId, spanId } = span.spanContext();
  return { id: traceId, span, added: ["traceparent", `00-${traceId}-${spanId}-01`], withheld: ["traceparent"] };
}

const BOTH: readonly string[] = ["traceparent", "tracestate"];

function createTrace(): Pick<Trace, "id" | "added"> {
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
