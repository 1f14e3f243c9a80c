/** Takes note of every request from its beginning to its end, for the metrics, the log and idleness, and gives it a trace context. @module */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { AddressOf } from "../access/limits.ts";
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
      return { request, address, startedAt, target: undefined, isKnown: false, client: "", traceId: "", heldMs: 0 };
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
      metrics.heldSeconds.observe(ms / 1000);
    },
    end(record, status) {
      metrics.now.inflight--;
      const { request, startedAt, target, isKnown } = record;
      const ms = performance.now() - startedAt;
      metrics.requests.observe(request.method ?? "", status, target && isKnown ? target.namespace : "", ms / 1000);
      log?.add(record, status, ms);
      if (target) traffic.ended(target);
    },
  };
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** What the sandbox is told. */
interface Trace {
  /** 32 hex digits. */
  id: string;
  /** Headers to add, flat; `[]` where the request's own pass. */
  added: readonly string[];
  /** The request's own make no sense: neither traceparent nor tracestate passes. */
  isBroken: boolean;
}

const NONE: readonly string[] = [];

/** Reads a traceparent header, or makes a trace that nobody samples. */
export function traceOf(traceparent: string | string[] | undefined): Trace {
  const id = typeof traceparent === "string" ? idOf(traceparent) : undefined;
  if (id !== undefined) return { id, added: NONE, isBroken: false };
  const made = randomUUID().replaceAll("-", "");
  const span = randomUUID().replaceAll("-", "").slice(16);
  return { id: made, added: ["traceparent", `00-${made}-${span}-00`], isBroken: traceparent !== undefined };
}

function idOf(traceparent: string): string | undefined {
  const [, version, id = "", span = "", more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  return /[1-9a-f]/.test(id) && /[1-9a-f]/.test(span) ? id : undefined;
}
