/** A collector of spans on a free port of loopback, and traces to send it. @module */
import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { TRACE_CONTEXT_ANNOTATION } from "../packages/api/objects/keys.ts";

/** A span as it came, by OTLP. Source: opentelemetry-proto, trace.proto. */
export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  /** In milliseconds since the epoch. */
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  events: { name: string; at: number }[];
  /** 2: it has failed. */
  code: number | undefined;
}

/** A client's trace. */
export const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
export const SPAN = "00f067aa0ba902b7";

/** The annotation of an object that was created in that trace; `sampled` false: nobody records it. */
export function inTrace(sampled = true): Record<string, string> {
  const traceparent = `00-${TRACE}-${SPAN}-${sampled ? "01" : "00"}`;
  return { [TRACE_CONTEXT_ANNOTATION]: JSON.stringify({ traceparent }) };
}

type Values = { key: string; value: Record<string, unknown> }[];

const valuesOf = (values: Values = []) =>
  Object.fromEntries(values.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Starts it; it goes with the test. @param status what it answers @param at its port; 0: a free one */
export async function startCollector(status = 200, at = 0) {
  const spans: CollectedSpan[] = [];
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    paths.push(`${request.method} ${request.url} ${request.headers["content-type"]}`);
    const { resourceSpans } = JSON.parse(await text(request));
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap((scope: { spans: object[] }) => scope.spans)) {
        spans.push({
          service: String(valuesOf(resource.attributes)["service.name"]),
          ...{ name: span.name, traceId: span.traceId, spanId: span.spanId, parentSpanId: span.parentSpanId },
          start: Number(span.startTimeUnixNano) / 1e6,
          end: Number(span.endTimeUnixNano) / 1e6,
          attributes: valuesOf(span.attributes),
          events: span.events.map(({ name, timeUnixNano }: { name: string; timeUnixNano: string }) => {
            return { name, at: Number(timeUnixNano) / 1e6 };
          }),
          code: span.status?.code,
        });
      }
    }
    response.writeHead(status).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, spans, paths };
}
