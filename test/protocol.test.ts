/** The HTTP face of the Sandbox hook, without a port; the same file runs on Node and on Deno. @module */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { createHookApp, type HookAppOptions } from "../packages/webhook/app.ts";
import type { HookCalls } from "../packages/webhook/hook.ts";
import type { LogLevel } from "../packages/process/log.ts";
import { sandboxHook } from "../hooks/sandbox/hook.ts";
import { aChild, aReadyPod, aRequest, aSandbox, NOW } from "./sandboxes.ts";

const HOOK = sandboxHook({ clusterDomain: "cluster.local" });

function anApp(options: HookAppOptions = {}, hook: HookCalls = HOOK) {
  const lines: Record<string, unknown>[] = [];
  const log = (level: LogLevel, message: string, fields = {}) => void lines.push({ level, message, ...fields });
  const app = createHookApp(hook, { now: () => NOW, log, ...options });
  const post = (path: string, body: unknown) =>
    app.request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  return { app, lines, post };
}

const request = (children = [aReadyPod()]) => ({ controller: {}, ...aRequest(aSandbox(), children) });

test("POST /sync answers what the hook wants, and no more than the protocol knows", async () => {
  const { post, lines } = anApp();
  const answer = await post("/sync", request());
  expect(answer.status).toBe(200);
  expect(Object.keys(await answer.json()).sort()).toEqual(["children", "status"]);
  expect(lines).toEqual([]);
});

test("resyncAfterSeconds is in the answer of a Sandbox that will expire", async () => {
  const sandbox = aSandbox({ spec: { shutdownTime: "2026-11-21T12:01:00Z" } });
  const answer = await anApp().post("/sync", aRequest(sandbox, [aReadyPod()]));
  expect(await answer.json()).toMatchObject({ resyncAfterSeconds: 60 });
});

test.for(
  [
    ["no JSON", "{not json", ["it is not JSON"]],
    ["no request", {}, ["parent: invalid_type", "children: invalid_type"]],
    ["no children", { ...request(), children: undefined }, ["children: invalid_type"]],
    ["a wrong enum", requestWith({ operatingMode: "s3cret" }), ["parent.spec.operatingMode: invalid_value"]],
    ["another kind", { ...request(), parent: { ...request().parent, kind: "s3cret" } }, ["parent.kind: invalid_value"]],
  ] as const,
)("400 for %s names the path and no value", async ([, body, parts]) => {
  const answer = await anApp().post("/sync", body);
  const text = await answer.text();
  expect(answer.status).toBe(400);
  for (const part of parts) expect(text).toContain(part);
  expect(text).not.toContain("s3cret");
  expect(text).not.toContain("not json");
});

test("a missing child rule is a 500, never an empty answer, and the log says which", async () => {
  const { post, lines } = anApp();
  const { "Pod.v1": _, ...children } = request().children;
  const answer = await post("/sync", { ...request(), children });
  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({ error: "Cannot answer: RangeError, see the hook's log" });
  expect(lines).toMatchObject([{
    level: "error",
    hook: "sandbox",
    namespace: "team-a",
    name: "demo",
    uid: "uid-demo",
    error: "Cannot list Pod.v1: the controller has no rule for it",
  }]);
});

test("the guard turns an answer that would delete without a reason into a 429, a line and a count", async () => {
  const amnesia: HookCalls = {
    name: "broken",
    sync: () => ({ refusal: { message: "a volume would be deleted", children: ["PersistentVolumeClaim/data-demo"] } }),
  };
  const { app, post, lines } = anApp({}, amnesia);
  const answer = await post("/sync", request());
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "30"]);
  expect(lines).toMatchObject([{ level: "error", hook: "broken", children: ["PersistentVolumeClaim/data-demo"] }]);
  expect(await (await app.request("/metrics")).text()).toContain('hookbox_hook_guard_refusals_total{hook="broken"} 1');
});

test("requests with bodies for which there is no room are asked to come back", async () => {
  // Almost nothing but text: it weighs twice its length while it comes, and three times then.
  const text = JSON.stringify({ ...request(), more: "x".repeat(1_000_000) });
  const { app } = anApp({ maxHeldWeight: 5.5 * text.length });
  const slow = () => {
    const gate = Promise.withResolvers<void>();
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        await gate.promise;
        controller.close();
      },
    });
    const request = new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);
    const answer = Promise.resolve(app.request(request));
    return { answer, end: () => (gate.resolve(), answer) };
  };
  const held = [slow(), slow()];
  await new Promise((resolve) => setTimeout(resolve));
  const refused = await slow().answer;
  expect([refused.status, refused.headers.get("Connection")]).toEqual([429, "close"]);
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  for (const { end } of held) expect((await end()).status).toBe(200);
  expect((await slow().end()).status, "there is room again").toBe(200);
});

test("senders that send nothing keep nobody out", async () => {
  const { app, post } = anApp();
  const headers = { "Content-Length": "1000" };
  const stalled = () => new ReadableStream({ start: () => {} });
  for (let i = 0; i < 300; i++) {
    void app.request(
      new Request("http://hook/sync", { method: "POST", headers, body: stalled(), duplex: "half" } as RequestInit),
    );
  }
  const answers = await Promise.all(Array.from({ length: 20 }, () => post("/sync", request())));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
});

test("a body over the limit is a 413, announced or not", async () => {
  const { app, post } = anApp({ maxBodyBytes: 100 });
  expect((await post("/sync", request())).status).toBe(413);
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("x".repeat(1000)));
      controller.close();
    },
  });
  const streamed = new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);
  expect((await app.request(streamed)).status).toBe(413);
});

test("a request that never ends is a 504", async () => {
  const { app } = anApp({ maxBodyMs: 20 });
  const body = new ReadableStream({ start: () => {} });
  const stuck = new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);
  const answer = await app.request(stuck);
  expect(answer.status).toBe(504);
  expect(await answer.json()).toEqual({ error: "Request is too slow" });
});

test("health, readiness and metrics", async () => {
  let ready = true;
  const { app, post } = anApp({ ready: () => ready });
  const answer = await (await post("/sync", request())).text();
  expect((await app.request("/healthz")).status).toBe(200);
  expect((await app.request("/readyz")).status).toBe(200);
  ready = false;
  expect((await app.request("/readyz")).status).toBe(503);
  const metrics = await (await app.request("/metrics")).text();
  expect(metrics).toContain('hookbox_hook_requests_total{hook="sandbox",endpoint="sync",code="200"} 1');
  expect(metrics).toContain('hookbox_hook_request_duration_seconds_count{hook="sandbox",endpoint="sync"} 1');
  const bytes = (direction: string, text: string) =>
    `hookbox_hook_body_bytes_total{hook="sandbox",endpoint="sync",direction="${direction}"} ${
      Buffer.byteLength(text)
    }\n`;
  expect(metrics).toContain(bytes("in", JSON.stringify(request())));
  expect(metrics).toContain(bytes("out", answer));
});

test("GET /sync is a 405; a hook without customize has no such route", async () => {
  const { app, post } = anApp();
  expect((await app.request("/sync")).status).toBe(405);
  expect((await post("/customize", {})).status).toBe(404);
});

test("a broken last-applied annotation is a 500: nothing is deleted on a guess", async () => {
  const broken = aChild("Pod", {
    metadata: { annotations: { "metacontroller.k8s.io/last-applied-configuration": "{" } },
  });
  expect((await anApp().post("/sync", request([broken]))).status).toBe(500);
});

function requestWith(spec: object): object {
  const { parent, ...rest } = request();
  return { ...rest, parent: { ...parent, spec: { ...parent.spec, ...spec } } };
}
