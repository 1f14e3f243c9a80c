/** What the SDK tells OpenTelemetry: spans of what a program does, and the trace that goes along. @module */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, expect, test } from "vitest";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { traceTransport } from "../../packages/sdk/tracing.ts";
import type { SandboxTransport, TransportRequest } from "../../packages/sdk/transport/transport.ts";
import { createTestCluster } from "../../packages/testing/mod.ts";

const ANNOTATION = "opentelemetry.io/trace-context";

afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable();
});

/** Sets OpenTelemetry up, as a program would; returns the spans that have ended. */
function setUp() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return () => {
    const spans = exporter.getFinishedSpans();
    const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    return spans.map((span) => {
      const { name, attributes, status, parentSpanContext } = span;
      const { traceId, spanId } = span.spanContext();
      return { name, attributes, status, traceId, spanId, parent: nameOf.get(parentSpanContext?.spanId ?? "") };
    });
  };
}

/** A way to a sandbox that answers with the given status, and keeps what it was asked. */
function aTransport(status = 200) {
  const asked: TransportRequest[] = [];
  const transport: SandboxTransport = {
    kind: "direct",
    fetch(_, __, request = {}) {
      asked.push(request);
      return status === 0
        ? Promise.reject(new Error("nobody is there"))
        : Promise.resolve(new Response("", { status }));
    },
    address: () => Promise.resolve(new URL("http://127.0.0.1")),
    close: () => Promise.resolve(),
  };
  return { asked, traced: traceTransport(transport, { kind: "Sandbox", namespace: "team-a", name: "demo" }) };
}

test("a creation is a span with what it waited for; the claim, and what the sandbox is asked, carry its trace", async () => {
  const spans = setUp();
  await using cluster = await createTestCluster({ time: "auto", runtime: "local" });
  const client = new SandboxClient(cluster.client);
  await trace.getTracer("program").startActiveSpan("program", async (program) => {
    const sandbox = await client.create({ image: "python", name: "mine" });
    await sandbox.commands.run("echo TOKEN=secret");
    program.end();
  });
  const all = spans();
  const traceId = all.find(({ name }) => name === "program")?.traceId;
  expect(all.every((span) => span.traceId === traceId)).toBe(true);
  const parents = Object.fromEntries(all.map(({ name, parent }) => [name, parent]));
  expect(parents).toMatchObject({
    "hookbox.create": "program",
    "hookbox.create_object": "hookbox.create",
    "hookbox.wait_until_ready": "hookbox.create",
    "hookbox.commands.run": "program",
    "hookbox.request POST": "hookbox.commands.run",
  });
  expect(all.find(({ name }) => name === "hookbox.create")?.attributes).toEqual({
    "k8s.namespace.name": "default",
    "container.image.name": "python",
    "sandbox.name": "mine",
  });
  const carried = JSON.parse(cluster.get("Sandbox", "mine")?.metadata.annotations?.[ANNOTATION] ?? "{}");
  expect(carried.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  expect(JSON.stringify(all.map(({ attributes }) => attributes)), "arguments may be secrets").not.toContain("secret");
});

test("a request is a span until its answer begins, and takes the trace along", async () => {
  const spans = setUp();
  const { traced, asked } = aTransport(404);
  await traced.fetch(8080, "/files/a?token=secret", { headers: { "X-Own": "1" } });
  const [span] = spans();
  expect(span?.attributes).toEqual({
    "k8s.namespace.name": "team-a",
    "sandbox.name": "demo",
    "http.request.method": "GET",
    "server.port": 8080,
    "url.path": "/files/a",
    "http.response.status_code": 404,
  });
  expect(asked[0]?.headers).toEqual({ "X-Own": "1", traceparent: `00-${span?.traceId}-${span?.spanId}-01` });
});

test("an error is recorded on its span, and thrown", async () => {
  const spans = setUp();
  await expect(aTransport(0).traced.fetch(8080, "/")).rejects.toThrow("nobody is there");
  expect(spans()[0]).toMatchObject({ status: { code: 2, message: "nobody is there" } });
});

test("without OpenTelemetry nothing is carried", async () => {
  const { traced, asked } = aTransport();
  await traced.fetch(8080, "/");
  expect(asked[0]?.headers).toEqual({});
  await using cluster = await createTestCluster({ time: "auto" });
  await new SandboxClient({ api: cluster.api }).create({ image: "python", name: "mine" });
  expect(cluster.get("Sandbox", "mine")?.metadata.annotations).not.toHaveProperty(ANNOTATION);
});
