/** Takes note of every request from its beginning to its end, for the metrics, the log, spans and idleness. @module */
import type { IncomingMessage } from "node:http";
import { type Span, SpanStatusCode } from "@opentelemetry/api";
import type { AddressOf } from "../access/clientaddress.ts";
import type { Target } from "../destination.ts";
import { isRefusal } from "../refusal.ts";
import type { AccessLog } from "./accesslog.ts";
import type { RouterMetrics } from "./metrics.ts";

/** What is known of a request; filled in as it goes on. */
export interface RequestRecord {
  request: IncomingMessage;
  /** Of the client. */
  address: string;
  startedAt: number;
  target: Target | undefined;
  /** There is such a Sandbox: its namespace may become a label. */
  isKnown: boolean;
  client: string;
  traceId: string;
  /** Undefined: nobody traces it. */
  span: Span | undefined;
  heldMs: number;
}

/** What hears of requests that have gone to a sandbox. */
export interface Traffic {
  begun(target: Target): void;
  ended(target: Target): void;
}

export interface Observer {
  begin(request: IncomingMessage): RequestRecord;
  /** It is known where the request goes, and that it may. */
  passed(record: RequestRecord, target: Target, client: string, isKnown: boolean): void;
  /** Whether somebody was let in; `namespace` is empty if the Sandbox is not known. */
  decided(namespace: string, outcome: object): void;
  /** The request has waited for its sandbox. */
  held(record: RequestRecord, ms: number): void;
  /** `status` is what the client got: 101 for another protocol, 499 if it had gone before. */
  end(record: RequestRecord, status: number): void;
}

interface ObserverParts {
  metrics: RouterMetrics;
  /** Undefined: there is none. */
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

/** Undefined: nobody records its trace. */
function traceIdOf({ span }: RequestRecord): string | undefined {
  return span?.spanContext().traceId;
}
