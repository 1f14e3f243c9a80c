/** Creates OpenTelemetry spans for calls of the SDK, if the program uses an OpenTelemetry SDK. @module */
import { type Attributes, context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ObjectRef } from "./errors.ts";
import type { SandboxTransport } from "./transport/transport.ts";

export type { Attributes };

const TRACER = "hookbox";

/** Runs an action in a span. If the action throws, the span records the error and the error is thrown again. */
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

/** Adds attributes to the current span. */
export function addAttributes(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes);
}

/** Adds an event to the current span. */
export function addEvent(name: string): void {
  trace.getActiveSpan()?.addEvent(name);
}

/** Returns the headers that pass the current trace on to another process. Empty if there is no trace. */
export function traceCarrier(): Record<string, string> {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier;
}

/**
 * Returns the attributes that name the sandbox of a span. Source: OpenTelemetry's semantic conventions for Kubernetes,
 * and the Python client.
 */
export function spanAttributes({ namespace, name }: Pick<ObjectRef, "namespace" | "name">): Attributes {
  return { "k8s.namespace.name": namespace, "sandbox.name": name };
}

/** Adds a span to each request, from the request to the response headers, and passes the trace on to the sandbox. */
export function traceTransport(transport: SandboxTransport, object: ObjectRef): SandboxTransport {
  return {
    ...transport,
    fetch: (port, path, request = {}) => {
      const { method = "GET", headers } = request;
      const attributes = {
        ...spanAttributes(object),
        "http.request.method": method,
        "server.port": port,
        // The query may contain secrets.
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
