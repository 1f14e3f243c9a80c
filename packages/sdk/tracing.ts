/** Spans of OpenTelemetry around what the SDK does, and the trace that goes with each request. Without an OpenTelemetry SDK in the program all of it is nothing. @module */
import { type Attributes, context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ObjectRef } from "./errors.ts";
import type { SandboxTransport } from "./transport/transport.ts";

export type { Attributes };

const TRACER = "hookbox";

/** Runs an action in a span; what it throws is recorded, and thrown. */
export async function traced<T>(
  name: string,
  attributes: Attributes,
  action: () => Promise<T>,
  kind: SpanKind = SpanKind.INTERNAL,
): Promise<T> {
  return await trace.getTracer(TRACER).startActiveSpan(name, { attributes, kind }, async (span) => {
    try {
      return await action();
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      span.recordException({ name: error instanceof Error ? error.name : "Error", message });
      span.setStatus({ code: SpanStatusCode.ERROR, message });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Says more of the span under way. */
export function addAttributes(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes);
}

/** Notes a moment in the span under way. */
export function addEvent(name: string): void {
  trace.getActiveSpan()?.addEvent(name);
}

/** Returns what carries the trace under way to somebody else, by name; empty: there is none. */
export function traceCarrier(): Record<string, string> {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier;
}

/** Says which sandbox a span is about. Source: OpenTelemetry's semantic conventions of Kubernetes, and the Python client's. */
export function spanAttributes({ namespace, name }: Pick<ObjectRef, "namespace" | "name">): Attributes {
  return { "k8s.namespace.name": namespace, "sandbox.name": name };
}

/** Gives each request to a sandbox a span, until its answer begins, and the trace to whoever answers. */
export function traceTransport(transport: SandboxTransport, object: ObjectRef): SandboxTransport {
  return {
    ...transport,
    fetch: (port, path, request = {}) => {
      const { method = "GET", headers } = request;
      const attributes = {
        ...spanAttributes(object),
        "http.request.method": method,
        "server.port": port,
        // What follows may have secrets.
        "url.path": path.split("?")[0] ?? path,
      };
      return traced(`hookbox.request ${method}`, attributes, async () => {
        const answer = await transport.fetch(port, path, { ...request, headers: { ...traceCarrier(), ...headers } });
        addAttributes({ "http.response.status_code": answer.status });
        return answer;
      }, SpanKind.CLIENT);
    },
  };
}
