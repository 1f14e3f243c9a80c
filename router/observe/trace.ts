/** W3C trace context: what a request brings passes; one that brings none gets one. Source: W3C Trace Context, level 1. @module */
import { randomUUID } from "node:crypto";

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** What the sandbox is told. */
export interface Trace {
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
