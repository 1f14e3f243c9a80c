/** What waits in the router costs what it is long, in however small chunks it comes; and comes through as it was sent. @module */
import { Buffer } from "node:buffer";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { coalesce } from "../../../../packages/router/proxy/streams.ts";
import { until, untilThere } from "../../../eventually.ts";
import { createFakeApi } from "../../../kube/fakeapi.ts";
import { dial, fetchFrom } from "../../client.ts";
import { liveBytes } from "../../../heap.ts";
import { headOf } from "../../rawbackend.ts";
import { naming, putReady, putSandbox, startBackend, startRouter } from "../../stage.ts";

const STREAMS = 3;
const MOST_BYTES = 2_000_000;
const TINY = Buffer.from("1\r\na\r\n".repeat(8000));
const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";

/** Writes chunks of one byte for as long as they are taken; returns how many bytes were. */
function flood(socket: Socket): () => number {
  const go = () => {
    while (!socket.destroyed && socket.write(TINY));
    socket.once("drain", go);
  };
  go();
  return () => socket.bytesWritten - socket.writableLength;
}

/** A sandbox that never reads; once asked, it does as the test likes. */
async function startDeaf(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).pause();
    onTestFinished(() => void socket.destroy());
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function start() {
  const api = createFakeApi();
  putReady(api);
  putSandbox(api, "starting");
  return await startRouter(api, {}, true);
}

/** Waits until nothing has been taken for a while, and returns how much memory each stream has cost since `before`. */
async function costOf(before: number, counts: (() => number)[]): Promise<number> {
  let last = -1;
  for (let still = 0; still < 4; still++) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    const now = counts.reduce((sum, count) => sum + count(), 0);
    if (now !== last) still = 0;
    last = now;
  }
  return (liveBytes() - before) / STREAMS;
}

/** Starts an app that answers each request with chunks without end; `written` counts the bytes of each answer. */
async function startFlood() {
  const written: (() => number)[] = [];
  const deaf = await startDeaf((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${CHUNKED}`);
    written.push(flood(socket));
  });
  return { deaf, written };
}

test("answers that their clients do not read", async () => {
  const { port } = await start();
  const { deaf, written } = await startFlood();
  const before = liveBytes();
  for (let i = 0; i < STREAMS; i++) {
    (await dial(port)).write(`GET / HTTP/1.1\r\nHost: localhost\r\n${headOf(deaf)}\r\n`);
  }
  await untilThere(STREAMS, () => written);
  expect(await costOf(before, written)).toBeLessThan(MOST_BYTES);
});

test.for(["demo", "starting"])("uploads that sandbox %s does not read", async (name) => {
  const { port } = await start();
  const head = headOf(await startDeaf(() => {})).replace("demo", name);
  const before = liveBytes();
  const written: (() => number)[] = [];
  for (let i = 0; i < STREAMS; i++) {
    const socket = await dial(port);
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${head}${CHUNKED}`);
    written.push(flood(socket));
  }
  expect(await costOf(before, written)).toBeLessThan(MOST_BYTES);
});

function frameOf(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.set([type, flags], 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The beginning of a connection with one request; `more` are the frames after it. */
function openingOf(method: string, named: Record<string, string>, settings: Uint8Array, more: Uint8Array[]): Buffer {
  const headers = { ":method": method, ":scheme": "http", ":path": "/", ":authority": "localhost", ...named };
  const literals = Object.entries(headers).flatMap(([name, value]) => [
    Buffer.of(0, name.length),
    Buffer.from(name.toLowerCase()),
    Buffer.of(value.length),
    Buffer.from(value),
  ]);
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const flags = more.length > 0 ? 4 : 5;
  return Buffer.concat([preface, frameOf(4, 0, 0, settings), frameOf(1, flags, 1, Buffer.concat(literals)), ...more]);
}

test("uploads by HTTP/2 that wait for a sandbox, each byte in a frame of its own", async () => {
  const { port, router } = await start();
  const frames = Array<Uint8Array>(65_000).fill(frameOf(0, 0, 1, Buffer.from("a")));
  const bytes = openingOf("POST", naming(1, "starting"), Buffer.alloc(0), frames);
  const before = liveBytes();
  const sockets = await Promise.all(Array.from({ length: STREAMS }, () => dial(port)));
  sockets.forEach((socket) => socket.write(bytes));
  await until(() => router.metrics.now.held === STREAMS);
  const written = sockets.map((socket) => () => socket.bytesWritten - socket.writableLength);
  expect(await costOf(before, written)).toBeLessThan(MOST_BYTES);
});

test("answers by HTTP/2 for which their clients have no window", async () => {
  const { port } = await start();
  const { deaf, written } = await startFlood();
  const before = liveBytes();
  // SETTINGS_INITIAL_WINDOW_SIZE is 0.
  const bytes = openingOf("GET", naming(deaf), Buffer.of(0, 4, 0, 0, 0, 0), []);
  for (let i = 0; i < STREAMS; i++) (await dial(port)).write(bytes);
  await untilThere(STREAMS, () => written);
  expect(await costOf(before, written)).toBeLessThan(MOST_BYTES);
});

test("one-byte chunks come through both ways as they were sent, trailers behind them", async () => {
  const { port } = await start();
  const text = Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(97 + i % 26)).join("");
  const echo = await startBackend((incoming, answer) => {
    answer.writeHead(200, { Trailer: "X-Sum" });
    incoming.on("data", (chunk: Buffer) => chunk.forEach((byte) => answer.write(Uint8Array.of(byte))));
    incoming.on("end", () => {
      answer.addTrailers({ "X-Sum": "42" });
      answer.end();
    });
  });
  const outgoing = request({ host: "127.0.0.1", port, method: "POST", agent: false, headers: naming(echo.port) });
  for (const letter of text) outgoing.write(letter);
  outgoing.end();
  const answer = await new Promise<IncomingMessage>((resolve) => outgoing.once("response", resolve));
  let got = "";
  for await (const chunk of answer) got += chunk;
  expect(got === text, `${got.length} bytes`).toBe(true);
  expect(answer.trailers).toEqual({ "x-sum": "42" });
  expect((await fetchFrom(port, { headers: naming(echo.port) })).status, "what follows").toBe(200);
});

test("of streams that bring thousands of chunks in a turn of the event loop one goes on in each turn", async () => {
  const streams = Array.from({ length: STREAMS }, () => new Readable({ read() {} }));
  const turns: number[] = [];
  let turn = 0;
  for (const stream of streams) {
    coalesce(stream);
    stream.on("data", (part: Buffer) => part.length > 1 && turns.push(turn));
  }
  await setImmediate();
  for (const stream of streams) for (let i = 0; i < 2000; i++) stream.push(Buffer.of(1));
  for (; turn < 10; turn++) await setImmediate();
  expect(turns).toHaveLength(STREAMS);
  expect(new Set(turns).size).toBe(STREAMS);
});
