/** The trace of a claim, from the client's call to the first byte of its first command, by all that have a part in it. @module */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { drawTrace } from "../../dev/docs/tracepicture.ts";
import { startTracing } from "../../packages/process/tracing.ts";
import { SandboxClient } from "../../packages/sdk/mod.ts";
import { type CollectedSpan, startCollector } from "../collector.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { until } from "../integration/kubectl.ts";
import { untilFull } from "../integration/pools.ts";
import { startRouter } from "./router.ts";
import { needsRuntime } from "./runtimepods.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const PYTHON = parseAllDocuments(readFileSync(new URL("../../examples/python.yaml", import.meta.url), "utf8"));
/** Where pictures of the traces are to be written; undefined: nowhere. */
const PICTURES = process.env["HOOKBOX_TEST_PICTURES"];

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(() => {
  for (const api of [trace, context, propagation]) api.disable();
});

/** A span begins by one clock, to the millisecond, and its end is measured from there by another. */
const CLOCK_MS = 2;

interface Case {
  way: "warm" | "cold";
  env: Record<string, string>;
  /** What the hook has said of the Sandbox, one of each at least. */
  sync: string[];
}
const CASES: Case[] = [
  { way: "warm", env: {}, sync: ["True"] },
  { way: "cold", env: { COLOUR: "green" }, sync: ["False", "True"] },
];

describe.runIf(hasRealNode)("on a real node", () => {
  beforeAll(needsRuntime);

  test.for(CASES)("a $way claim is one trace, and its times add up", async ({ way, env, sync }) => {
    const { spans } = await startCollector(200, Number(new URL(suite.tracesURL).port));
    const ns = await makeNamespace();
    await ns.apply(...PYTHON.map((document) => document.toJS()));
    await untilFull(ns, "python");
    const router = await startRouter("--otlp-endpoint", suite.tracesURL);
    const client = new SandboxClient({ kubeconfig: suite.kubeconfig, namespace: ns.name, routerUrl: router.url });
    const tracing = await startTracing({ service: "program", endpoint: suite.tracesURL, log: () => {} });
    if (!tracing) throw new Error("there is a collector");
    trace.setGlobalTracerProvider({ getTracer: () => tracing.tracer });
    const traceId = await tracing.tracer.startActiveSpan("program", async (program) => {
      const sandbox = await client.create({ template: "python", env });
      expect((await sandbox.commands.run("echo $COLOUR")).stdout).toBe(`${env["COLOUR"] ?? ""}\n`);
      program.end();
      await sandbox.kill();
      return program.spanContext().traceId;
    });
    await tracing.stop();
    trace.disable();

    const named = (name: string) => spans.filter((span) => span.traceId === traceId && span.name === name);
    const only = (name: string): CollectedSpan => {
      const [span, ...more] = named(name);
      if (!span || more.length > 0) throw new Error(`There are ${named(name).length} spans ${name}`);
      return span;
    };
    const said = (hook: string) => named(`${hook}/sync`).map(({ attributes }) => attributes["hookbox.ready"]);
    const written = () => named("hookbox.write_claim_status");
    // Spans are sent a second after they end, at most.
    await until(() => Promise.resolve(spans.map(({ service, name }) => `${service}: ${name}`)), () => {
      // Of a Sandbox that took its time to start it is the hook that says so.
      const isTold = written().length > 0 || said("sandboxclaim").includes("True");
      const isStarted = said("sandbox").includes("True") &&
        (way === "warm" || named("hookbox.start_sandbox").length > 0);
      return isTold && isStarted && named("hookbox.bind").length > 0 && named("router POST").length > 0;
    });
    const [create, object, wait, run] = ["create", "create_object", "wait_until_ready", "commands.run"].map((name) =>
      only(`hookbox.${name}`)
    ) as [CollectedSpan, CollectedSpan, CollectedSpan, CollectedSpan];
    const [bind, root, starts] = [only("hookbox.bind"), only("program"), named("hookbox.start_sandbox")];
    expect(bind.attributes["hookbox.launch_type"]).toBe(way);
    expect(said("sandbox")).toEqual(expect.arrayContaining(sync));
    expect([create.parentSpanId, run.parentSpanId]).toEqual([root.spanId, root.spanId]);
    const parents = [object, wait, bind, ...starts, ...written(), ...named("sandbox/sync")].map((span) =>
      span.parentSpanId
    );
    expect(new Set(parents)).toEqual(new Set([create.spanId]));
    expect(starts.length).toBe(way === "cold" ? 1 : 0);
    expect(run.events).toMatchObject([{ name: "first output" }]);
    // The router's spans stand between the program's requests and the runtime.
    const requests = new Set(named("hookbox.request POST").map(({ spanId }) => spanId));
    expect(named("router POST").every(({ parentSpanId }) => requests.has(parentSpanId))).toBe(true);

    const inOrder = (times: number[]) => times.every((time, i) => time - (times[i - 1] ?? time) >= -CLOCK_MS);
    // An answer may come after the watch has shown what was written: beginnings have an order.
    const beginnings = [create, object, bind, ...starts, ...written()].map(({ start }) => start);
    expect([...beginnings, wait.end, run.start], "one after the other").toSatisfy(inOrder);
    const parts = [create.start, object.start, object.end, wait.start, wait.end, create.end];
    expect(parts, "what creation is made of").toSatisfy(inOrder);
    if (PICTURES !== undefined) {
      mkdirSync(PICTURES, { recursive: true });
      writeFileSync(join(PICTURES, `trace-${way}.svg`), drawTrace(spans.filter((span) => span.traceId === traceId)));
    }
  });
});
