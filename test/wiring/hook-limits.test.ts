/** A hook put together with its real flags: the limits that nobody sets. @module */
import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHookApp } from "../../packages/webhook/app.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { readSettings } from "../../hooks/all.ts";
import { serveHooks } from "../../packages/webhook/runhook.ts";
import { until } from "../eventually.ts";
import { send } from "../runtime/servers.ts";

const hook: HookCalls = { name: "plain", sync: () => ({ answer: {}, losses: [], held: [] }) };
const SYNC = { body: "{}" };
const post = (body: BodyInit) =>
  new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);

async function serve() {
  const { settings } = readSettings(["--host", "127.0.0.1", "--port", "0", "--log-level", "error"]);
  // Whoever breaks off in the middle of a body is logged.
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const server = await serveHooks([hook], settings, true);
  onTestFinished(() => server.stop().then(() => written.mockRestore()));
  return server;
}

test("a thousand requests at once are answered, behind 300 sockets that stall in the middle of a body", async () => {
  const { port } = await serve();
  for (let i = 0; i < 300; i++) {
    const headers = { "Content-Length": 1000 };
    const stalled = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
    stalled.on("error", () => {}).write("{");
    onTestFinished(() => void stalled.destroy());
  }
  const answers = await Promise.all(Array.from({ length: 1000 }, () => send(port, "POST", "/sync", SYNC)));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
});

test("of eight bodies of 30 MB that stall before their end, those are refused for which there is no room", async () => {
  const { port } = await serve();
  const half = new Uint8Array(30_000_000);
  const statuses: (number | undefined)[] = [];
  for (let i = 0; i < 8; i++) {
    const headers = { "Content-Length": half.length + 1 };
    const stalled = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
    stalled.on("error", () => {}).on("response", ({ statusCode }) => statuses.push(statusCode)).write(half);
    onTestFinished(() => void stalled.destroy());
  }
  await until(() => statuses.length === 4);
  expect(statuses).toEqual([429, 429, 429, 429]);
  expect((await send(port, "POST", "/sync", SYNC)).status, "a small one has room").toBe(200);
});

test("a request is given up before Metacontroller gives it up, which is after ten seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const app = createHookApp(hook, { log: () => {} });
  let status: number | undefined;
  const asked = Promise.resolve(app.request(post(new ReadableStream()))).then((answer) => status = answer.status);
  await vi.advanceTimersByTimeAsync(7900);
  expect(status).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1100);
  expect(await asked).toBe(504);
});

test("a body of more than 64 MiB is refused by its length alone", async () => {
  const { port } = await serve();
  const statusOf = (bytes: number) =>
    new Promise<number>((resolve, reject) => {
      const headers = { "Content-Length": bytes, Expect: "100-continue" };
      const asked = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/sync", headers, agent: false });
      asked.on("error", reject).on("response", ({ statusCode = 0 }) => resolve(statusCode)).flushHeaders();
      onTestFinished(() => void asked.destroy());
      if (bytes < 1000) asked.once("continue", () => asked.end("x".repeat(bytes)));
    });
  expect(await statusOf((64 << 20) + 1)).toBe(413);
  expect(await statusOf(1), "which is no JSON").toBe(400);
});
