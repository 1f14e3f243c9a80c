/** What sends spans: to a collector that takes them, one that does not, and none. @module */
import { expect, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { contextOf } from "../../packages/process/observability.ts";
import { startTracing } from "../../packages/process/tracing.ts";
import { SPAN, startCollector, TRACE } from "../collector.ts";

const PARENT = { traceId: TRACE, spanId: SPAN, isSampled: true };

/** Starts a process' tracing; `said` grows with what it logs. */
async function tracing(endpoint: string) {
  const said: unknown[] = [];
  const started = await startTracing({ service: "a-process", endpoint, log: (...line) => void said.push(line) });
  if (!started) throw new Error("there is a collector");
  return { ...started, said };
}

test("a span that ends is with the collector when the process has stopped, as part of its parent's trace", async () => {
  const { url, spans, paths } = await startCollector();
  const { tracer, stop } = await tracing(url);
  tracer.startSpan("work", { attributes: { size: 3 } }, contextOf(PARENT)).addEvent("half").end();
  tracer.startSpan("unrecorded", {}, contextOf({ ...PARENT, isSampled: false })).end();
  await stop();
  expect(paths).toEqual(["POST /v1/traces application/json"]);
  expect(spans).toMatchObject([{
    ...{ service: "a-process", name: "work", traceId: TRACE, parentSpanId: SPAN },
    ...{ attributes: { size: 3 }, events: [{ name: "half" }] },
  }]);
});

test.for([["refuses them", 500, "status 500"], ["is not there", 0, ""]] as const)(
  "a collector that %s is complained of once, and nothing waits for it",
  async ([, status, why]) => {
    const { url, spans } = await startCollector(status || 200);
    const [port] = await freePorts(1);
    const { tracer, stop, said } = await tracing(status ? url : `http://127.0.0.1:${port}`);
    for (let i = 0; i < 1100; i++) tracer.startSpan(`work ${i}`, {}, contextOf(PARENT)).end();
    await stop();
    expect(said).toEqual([["warn", "Cannot send spans", expect.objectContaining({ error: expect.any(String) })]]);
    expect(JSON.stringify(said)).toContain(why);
    expect(spans.length > 0).toBe(status > 0);
  },
);

test("without a collector there is nothing", async () => {
  expect(await startTracing({ service: "a-process", endpoint: undefined, log: () => {} })).toBeUndefined();
});
