/**
 * Sends spans of a process to a collector by OTLP over HTTP. Without a collector, OpenTelemetry's SDK is not loaded.
 * @module
 */
import type { Tracer } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { COMPLAINT_MS, type Log } from "./log.ts";

/** The tracing of a process. */
interface Tracing {
  tracer: Tracer;
  /** Sends the remaining spans. */
  stop(): Promise<void>;
}

interface TracingOptions {
  /** Name of the process, as `service.name`. */
  service: string;
  /** Base URL of the collector, such as `http://collector:4318`; undefined: none. */
  endpoint: string | undefined;
  log: Log;
}

/** Spans that the collector does not accept within this time are lost. */
const TIMEOUT_MS = 10_000;

/** Starts tracing; undefined: there is no collector. */
export async function startTracing({ service, endpoint, log }: TracingOptions): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined;
  const { BatchSpanProcessor, TracerProvider } = await import("@opentelemetry/sdk-trace");
  const { resourceFromAttributes } = await import("@opentelemetry/resources");
  const exporter = await createExporter(`${endpoint}/v1/traces`, log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 1000 })],
  });
  // Ignore the error: the exporter has logged it.
  return { tracer: provider.getTracer("hookbox"), stop: () => provider.shutdown().catch(() => {}) };
}

/**
 * Creates an exporter that uses `fetch`. OpenTelemetry's own exporters read the environment, for which hooks have no
 * permission.
 */
async function createExporter(url: string, log: Log): Promise<SpanExporter> {
  const { JsonTraceSerializer } = await import("@opentelemetry/otlp-transformer");
  const sending = new Set<Promise<void>>();
  let complainedAt = -Infinity;

  async function send(spans: Parameters<SpanExporter["export"]>[0]): Promise<void> {
    const body = JsonTraceSerializer.serializeRequest(spans);
    if (!body) return;
    const headers = { "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method: "POST", headers, body: new Uint8Array(body), signal });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the collector answers with status ${response.status}`);
  }

  return {
    export(spans, done) {
      const sent = send(spans).then(() => done({ code: 0 }), (error: unknown) => {
        const reason = error instanceof Error ? error : new Error(String(error));
        if (performance.now() - complainedAt > COMPLAINT_MS) {
          complainedAt = performance.now();
          log("warn", "Cannot send spans", { url, lost: spans.length, error: reason.message });
        }
        done({ code: 1, error: reason });
      }).finally(() => sending.delete(sent));
      sending.add(sent);
    },
    async forceFlush() {
      await Promise.all(sending);
    },
    async shutdown() {
      await Promise.all(sending);
    },
  };
}
