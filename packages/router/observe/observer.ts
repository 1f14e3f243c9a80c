/** Records every request from its beginning to its end, for metrics, access log, spans and idle suspension. @module */
import type { IncomingMessage } from "node:http";
import { type Span, SpanStatusCode } from "@opentelemetry/api";
import type { AddressOf } from "../access/clientaddress.ts";
import type { Target } from "../destination.ts";
import { isRefusal } from "../refusal.ts";
import type { AccessLog } from "./accesslog.ts";
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
export interface Traffic {
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
  traffic: Traffic;
  addressOf: AddressOf;
}

/** Makes the observer. */
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
