/** HTTP/2 streams that their client leaves open: each ends some time, and so does a connection without any. @module */
import type { IncomingHttpHeaders, Settings } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../packages/router/server.ts";
import { until } from "../eventually.ts";
import { holdTimers } from "../hurry.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { makeCertificate } from "./certificate.ts";
import { openSession } from "./client.ts";
import { naming, putReady, startBackend, startRouter } from "./stage.ts";

async function start() {
  const api = createFakeApi();
  putReady(api);
  const stage = await startRouter(api, {}, true);
  return { ...stage, client: openSession(stage.url) };
}

test.for([
  { method: "POST", name: "nobody", status: 404 },
  { method: "HEAD", name: "nobody", status: 400 },
  { method: "HEAD", name: "demo", status: 400 },
  { method: "POST", name: "demo", status: 413 },
])("streams end once what is left of $method for $name has been read for a while", async ({ method, name, status }) => {
  const { client, router } = await start();
  const backend = await startBackend((_, answer) => void answer.writeHead(413).end("no"));
  const pass = holdTimers();
  const headers = { ":method": method, ":path": "/", ...naming(backend.port, name) };
  const stream = client.request(headers, { endStream: false });
  const code = new Promise((resolve) => stream.on("error", () => {}).on("close", () => resolve(stream.rstCode)));
  const answer = await new Promise<IncomingHttpHeaders>((resolve) => stream.resume().once("response", resolve));
  expect([answer[":status"], router.metrics.now.inflight, stream.closed]).toEqual([status, 1, false]);
  await until(() => stream.readableEnded);
  pass(10_000);
  expect(await code).toBe(0);
  await until(() => router.metrics.now.inflight === 0);
});

test("streams are no more than 250 on a connection, with TLS too", async () => {
  const { client, router } = await start();
  const tls = { host: "127.0.0.1", port: 0, graceMs: 0, h2c: false, tls: makeCertificate() };
  const server = await listen(router.handler, tls);
  onTestFinished(() => server.stop());
  for (const each of [client, openSession(`https://127.0.0.1:${server.port}`)]) {
    const settings = await new Promise<Settings>((resolve) => each.once("remoteSettings", resolve));
    expect(settings.maxConcurrentStreams).toBe(250);
  }
});

test("streams keep their connection, which without any ends when it has been silent", async () => {
  const { router } = await start();
  // Long enough for the first request: a busy machine may take a while to make a connection over TLS.
  const options = { host: "127.0.0.1", port: 0, graceMs: 0, idleMs: 1000 };
  const ports = [{ ...options, h2c: true }, { ...options, h2c: false, tls: makeCertificate() }];
  await Promise.all(ports.map(async (each) => {
    const server = await listen(router.handler, each);
    onTestFinished(() => server.stop());
    const backend = await startBackend((_, answer) => void answer.write("x"));
    const client = openSession(`${"tls" in each ? "https" : "http"}://127.0.0.1:${server.port}`);
    const stream = client.request({ ":path": "/", ...naming(backend.port) });
    stream.on("error", () => {});
    await new Promise((resolve) => stream.once("data", resolve));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(client.closed).toBe(false);
    stream.close();
    await until(() => client.closed);
  }));
});
