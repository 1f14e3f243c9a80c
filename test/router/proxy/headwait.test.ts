/** A sandbox that puts off its answer, or drips it, is waited for as long as any other; and nobody is waited for whose client has gone. */
import type { Socket } from "node:net";
import { request } from "node:http";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";
import type { RouterOptions } from "../../../packages/router/options.ts";
import { until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { exchange, fetchFrom, open } from "../client.ts";
import { headOf, OK, startRaw } from "../rawbackend.ts";
import { naming, putPod, putReady, startRouter, textOf } from "../stage.ts";

async function start(over: Partial<RouterOptions> = {}) {
  const api = createFakeApi();
  putReady(api);
  return { ...await startRouter(api, over), api };
}

const WAIT = "HTTP/1.1 102 Processing\r\n\r\n";
const GO_ON = "HTTP/1.1 100 Continue\r\n\r\n";
const UPGRADE = "Connection: close, Upgrade\r\nUpgrade: websocket\r\n";

/** Writes a text now and then, for ever, behind another. */
function drip(socket: Socket, [first, ...others]: string[]): void {
  socket.write(first ?? "");
  const timer = setInterval(() => socket.write(others.join("")), 20);
  socket.once("close", () => clearInterval(timer));
}

test("sixteen informational answers may come before the answer", async () => {
  const { port } = await start();
  const raw = await startRaw((socket) => socket.write(WAIT.repeat(15) + GO_ON + OK));
  expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 200, text: "ok" });
});

test.for([WAIT, GO_ON])("more of %j end the request, which is not sent again", async (informational) => {
  const { port } = await start();
  const raw = await startRaw((socket, count) => socket.write(count === 1 ? OK : informational.repeat(17)));
  expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 200 });
  expect(await fetchFrom(port, { headers: naming(raw.port) }), "on the kept connection").toMatchObject({
    status: 502,
    text: expect.stringContaining("it sent informational answers without end"),
  });
  expect(raw).toMatchObject({ requests: 2, connections: 1 });
});

test("more of them right before a switch of protocols, which nobody asked for, end the request alone", async () => {
  const { port } = await start();
  const survived: unknown[] = [];
  const survive = (error: unknown) => survived.push(error);
  process.on("uncaughtException", survive);
  onTestFinished(() => void process.off("uncaughtException", survive));
  const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
  const raw = await startRaw((socket) => socket.write(WAIT.repeat(17) + switching));
  expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 502 });
  const head = `GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}${headOf(raw.port)}\r\n`;
  expect(await exchange(port, head)).toMatch(/^HTTP\/1\.1 502 /);
  expect(survived).toEqual([]);
});

test("more of them end a request for another protocol", async () => {
  const { port } = await start();
  const raw = await startRaw((socket) => socket.write(WAIT.repeat(17)));
  const head = `GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}${headOf(raw.port)}\r\n`;
  expect(await exchange(port, head)).toMatch(/^HTTP\/1\.1 502 /);
});

test.for([
  { name: "informational answers", pieces: [WAIT, WAIT] },
  { name: "a head without end", pieces: ["HTTP/1.1 200 OK\r\n", "X-A: "] },
])("$name in between do not begin the time for an answer anew", async ({ pieces }) => {
  const { port } = await start({ responseHeaderTimeout: 150 });
  const raw = await startRaw((socket) => drip(socket, pieces));
  expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 504 });
  const head = `GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}${headOf(raw.port)}\r\n`;
  expect(await exchange(port, head)).toMatch(/^HTTP\/1\.1 504 /);
});

test("an answer may last longer than its head may", async () => {
  const { port } = await start({ responseHeaderTimeout: 150 });
  let goOn = () => {};
  const raw = await startRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    goOn = () => socket.write("k");
  });
  const pass = holdTimers();
  const answer = await open(port, { headers: naming(raw.port) });
  pass(1000);
  goOn();
  expect([answer.statusCode, await textOf(answer)]).toEqual([200, "ok"]);
});

test("a try that waits for its sandbox ends with its client", async () => {
  const { port, router, api } = await start({
    upstreamMaxRetries: 1000,
    upstreamRetryInitialDelay: 20,
    upstreamRetryMaxDelay: 20,
  });
  const [free = 0] = await freePorts(1);
  const asking = request({ host: "127.0.0.1", port, headers: naming(free), agent: false }).on("error", () => {});
  asking.end();
  await new Promise((resolve) => setTimeout(resolve, 100));
  putPod(api, "demo", { status: { conditions: [{ type: "PodScheduled", status: "True" }] } });
  await until(() => router.metrics.now.held === 1);
  asking.destroy();
  await until(() => router.metrics.now.held === 0);
});
