/**
 * Records the binder's work for a claim as spans in the trace of the claim's client, if both the client and this
 * process trace.
 * @module
 */
import { type Attributes, type Span, SpanStatusCode, type TimeInput } from "@opentelemetry/api";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { traceContextOf } from "../api/tracecontext.ts";
import { contextOf } from "../process/observability.ts";
import type { Binder } from "./state.ts";

interface SpanDetails {
  attributes?: Attributes;
  /** @default now */
  startTime?: TimeInput;
}

/** Starts a span in a claim's trace; undefined if the claim or this process is not traced. */
export function beginSpan(
  { tracer }: Pick<Binder, "tracer">,
  { metadata }: SandboxClaim,
  name: string,
  { attributes, ...details }: SpanDetails = {},
): Span | undefined {
  const parent = tracer && traceContextOf(metadata);
  if (!parent) return undefined;
  const about = { "k8s.namespace.name": metadata.namespace ?? "", "hookbox.claim.name": metadata.name };
  return tracer.startSpan(name, { ...details, attributes: { ...about, ...attributes } }, contextOf(parent));
}

/** Ends the span of an action that has failed. */
export function endFailed(span: Span | undefined, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span?.setStatus({ code: SpanStatusCode.ERROR, message }).end();
}

/** Runs an action in a span of a claim's trace. If the claim is not traced, runs only the action. */
export async function inSpan<T>(
  binder: Pick<Binder, "tracer">,
  claim: SandboxClaim,
  name: string,
  action: () => Promise<T>,
): Promise<T> {
  const span = beginSpan(binder, claim, name);
  if (!span) return await action();
  try {
    const result = await action();
    span.end();
    return result;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}

/** Returns the log fields that identify a claim and its client's trace. */
export function logFields({ metadata }: SandboxClaim): Record<string, unknown> {
  const { namespace, name } = metadata;
  const trace = traceContextOf(metadata);
  return { namespace, name, ...(trace && { trace_id: trace.traceId }) };
}
