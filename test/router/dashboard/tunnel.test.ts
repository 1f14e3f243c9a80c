/** The dashboard's WebSocket: what goes through it, and what hostile clients get. @module */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import {
  CONNECTION_WINDOW,
  FRAME_BYTES,
  HEAD_BYTES,
  MOST_STREAMS,
  MOST_UNPROVEN_STREAMS,
  MULTIPLEX_PATH,
  MULTIPLEX_PROTOCOL,
  STREAM_WINDOW,
} from "../../../packages/api/router/multiplex.ts";
import { eventually, until, untilThere } from "../../eventually.ts";
import { answerOf, API, chunksOf, dial, SANDBOXES, start, TOKEN, tokenOf } from "./stage.ts";

async function* endless(): AsyncGenerator<Uint8Array> {
  yield* chunksOf("{}");
  await new Promise(() => {});
}

test("requests over one WebSocket are answered as ordinary ones, side by side", async () => {
  const { port, asked } = await start({
    apiProxy: (request) =>
      Promise.resolve(
        request.path.includes("watch=true")
          ? { status: 200, chunks: endless(), text: () => Promise.resolve("") }
          : answerOf(200, { items: [request.path] }),
      ),
  });
  const { ask, statusOf, textOf, ended } = await dial(port);
  ask(1, { path: `${API}?watch=true` });
  ask(2, { path: `${API}?limit=1` });
  await until(() => ended(2));
  expect([statusOf(1), textOf(1), ended(1)]).toEqual([200, "{}", false]);
  expect(JSON.parse(textOf(2))).toEqual({ items: [`${SANDBOXES}?limit=1`] });
  expect(asked.map(({ token }) => token)).toEqual(["ada-1", "ada-1"]);
});

test("a body arrives whole, and a cancelled request ends at the API server", async () => {
  let signal: AbortSignal | undefined;
  const { port, asked } = await start({
    apiProxy: (request) => {
      signal = request.signal;
      const chunks = request.method === "GET" ? endless() : chunksOf("{}");
      return Promise.resolve({ status: 200, chunks, text: () => Promise.resolve("") });
    },
  });
  const { ask, send, statusOf, ended } = await dial(port);
  const path = "/.hookbox/api/apis/agents.x-k8s.io/v1beta1/namespaces/a/sandboxes/b";
  const headers: [string, string][] = [TOKEN, ["Content-Type", "application/merge-patch+json"]];
  ask(1, { method: "PATCH", path, headers, length: 11 });
  send({ type: "data", stream: 1, bytes: new TextEncoder().encode('{"spec"') });
  send({ type: "data", stream: 1, bytes: new TextEncoder().encode(":{}}") });
  send({ type: "end", stream: 1 });
  await until(() => ended(1));
  expect(statusOf(1)).toBe(200);
  expect(asked[0]?.body).toEqual({ text: '{"spec":{}}', type: "application/merge-patch+json" });
  ask(2, {});
  await until(() => statusOf(2) === 200);
  send({ type: "cancel", stream: 2, reason: "" });
  await eventually(() => signal?.aborted).toBe(true);
});

test.for([
  { name: "of a foreign page", headers: { Origin: "http://evil.example" }, status: 403 },
  { name: "of a sandboxed page", headers: { Origin: "null" }, status: 403 },
  { name: "of a page of another port", headers: { Origin: "http://127.0.0.1:1" }, status: 403 },
  { name: "to another path", headers: {}, path: "/.hookbox/api/x", status: 404 },
])("a WebSocket $name is refused", async ({ headers, path, status }) => {
  const { port, seen } = await start();
  expect((await dial(port, headers, path)).status).toBe(status);
  expect(seen.upgrades).toEqual([status]);
});

test("a WebSocket of a program without an Origin is refused", async () => {
  const { port } = await start();
  const socket = new WebSocket(`ws://127.0.0.1:${port}${MULTIPLEX_PATH}`, MULTIPLEX_PROTOCOL).on("error", () => {});
  const [, answer] = await once(socket, "unexpected-response") as [unknown, IncomingMessage];
  expect(answer.statusCode).toBe(403);
});

const sandbox: [string, string] = ["X-Sandbox-ID", "demo"];

test.for<{ name: string; path?: string; headers: [string, string][]; method?: string; status: number }>([
  { name: "without a token", headers: [], status: 401 },
  { name: "to a sandbox without a token", path: "/x", headers: [sandbox], status: 401 },
  { name: "with something else than a token", headers: [["Authorization", "Basic eDp5"]], status: 401 },
  { name: "for a page of the dashboard", path: "/.hookbox/", headers: [TOKEN], status: 403 },
  { name: "for nothing that it names", path: "/x", headers: [TOKEN], status: 403 },
  { name: "for both", headers: [TOKEN, sandbox], status: 403 },
  { name: "for a Secret", path: "/.hookbox/api/api/v1/namespaces/a/secrets/b", headers: [TOKEN], status: 403 },
  { name: "with another host", headers: [TOKEN, ["Host", "8080-demo-a.preview.example"]], status: 400 },
  { name: "with a forged address", headers: [TOKEN, ["X-Forwarded-For", "192.0.2.1"]], status: 400 },
  { name: "with a cookie", headers: [TOKEN, ["Cookie", "a=b"]], status: 400 },
  { name: "to switch protocols", headers: [TOKEN, ["Connection", "Upgrade"]], status: 400 },
  { name: "with a length of its own", headers: [TOKEN, ["Content-Length", "3"]], status: 400 },
  { name: "with a header twice", headers: [TOKEN, TOKEN], status: 400 },
  { name: "with a line break in a header", headers: [TOKEN, ["X-A", "b\r\nX-Sandbox-ID: demo"]], status: 400 },
  { name: "with a space in its path", path: `${API} HTTP/1.1\r\n`, headers: [TOKEN], status: 400 },
])("a request $name is refused, and reaches nobody", async ({ path = API, headers, status }) => {
  const reached: unknown[] = [];
  const { port, asked } = await start({ domain: "preview.example", sandbox: ({ url }) => reached.push(url) });
  const { ask, statusOf, ended, socket } = await dial(port);
  ask(1, { path, headers });
  await until(() => ended(1));
  expect(statusOf(1)).toBe(status);
  expect([asked, reached]).toEqual([[], []]);
  expect(socket.readyState).toBe(WebSocket.OPEN);
});

test("a sandbox gets a request as from the browser itself: host, address and protocol are the WebSocket's", async () => {
  const reached: IncomingMessage[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    reached.push(request);
    response.writeHead(201, { "Set-Cookie": "a=b", "X-Own": "1" }).end("hello");
  };
  const { port } = await start({ sandbox: answer });
  const { ask, of, textOf, ended } = await dial(port, {
    "X-Forwarded-For": "192.0.2.7",
    "User-Agent": "Browser",
    Cookie: "c=d",
  });
  ask(1, { path: "/x?y", headers: [TOKEN, sandbox] });
  await until(() => ended(1));
  expect(textOf(1)).toBe("hello");
  expect(of(1)[0]).toMatchObject({
    type: "answer",
    head: { status: 201, headers: expect.arrayContaining([["X-Own", "1"]]) },
  });
  expect(JSON.stringify(of(1)[0])).not.toMatch(/cookie/i);
  const [request] = reached;
  expect(request?.url).toBe("/x?y");
  expect(request?.socket.remoteAddress).toBe("127.0.0.1");
  expect(request?.headers).toEqual({
    host: `127.0.0.1:${port}`,
    authorization: "Bearer ada-1",
    "x-sandbox-id": "demo",
    "x-forwarded-for": "192.0.2.7",
    "user-agent": "Browser",
    "sec-fetch-site": "same-origin",
    connection: "close",
  });
});

test("a token that a proxy in front adds to the WebSocket counts for requests without one", async () => {
  const { port, asked } = await start();
  const { ask, ended } = await dial(port, { Authorization: "Bearer eve-1" });
  ask(1, { headers: [] });
  ask(2, { headers: [TOKEN] });
  await until(() => ended(1) && ended(2));
  expect(asked.map(({ token }) => token).sort()).toEqual(["ada-1", "eve-1"]);
});

test("an answer ends when its token expires", async () => {
  const expiring = tokenOf("ada", "", Math.floor(Date.now() / 1000) + 2);
  const { port } = await start({
    apiProxy: () => Promise.resolve({ status: 200, chunks: endless(), text: () => Promise.resolve("") }),
  });
  const { ask, statusOf, of } = await dial(port);
  ask(1, { headers: [["Authorization", `Bearer ${expiring}`]] });
  await until(() => statusOf(1) === 200);
  await eventually(() => of(1).at(-1)?.type).toBe("cancel");
});

test.for<{ name: string; send(client: Awaited<ReturnType<typeof dial>>): void; code: number }>([
  { name: "a huge frame", send: ({ socket }) => socket.send(new Uint8Array(HEAD_BYTES + 1)), code: 1009 },
  { name: "a text", send: ({ socket }) => socket.send("hello"), code: 1008 },
  { name: "an empty frame", send: ({ socket }) => socket.send(new Uint8Array()), code: 1008 },
  { name: "an unknown frame", send: ({ socket }) => socket.send(new Uint8Array([99, 0, 0, 0, 1])), code: 1008 },
  { name: "an answer", send: ({ send }) => send({ type: "answer", stream: 1, head: {} }), code: 1008 },
  { name: "a head without a path", send: ({ send }) => send({ type: "request", stream: 1, head: {} }), code: 1008 },
  { name: "an absolute URL", send: ({ ask }) => ask(1, { path: "http://evil.example/" }), code: 1008 },
  { name: "a method that opens a tunnel", send: ({ ask }) => ask(1, { method: "CONNECT" }), code: 1008 },
  {
    name: "the same stream twice",
    send: ({ ask }) => {
      ask(1, {});
      ask(1, {});
    },
    code: 1008,
  },
  {
    name: "a body that hides a second request",
    send: ({ ask, send }) => {
      ask(1, { method: "POST", length: 2 });
      send({ type: "data", stream: 1, bytes: new TextEncoder().encode("{}GET / HTTP/1.1\r\n\r\n") });
    },
    code: 1008,
  },
  {
    name: "a body that is too short",
    send: ({ ask, send }) => {
      ask(1, { method: "POST", length: 2 });
      send({ type: "end", stream: 1 });
    },
    code: 1008,
  },
])("$name closes the connection", async ({ send, code }) => {
  const { port } = await start();
  const client = await dial(port);
  send(client);
  expect((await client.closed).code).toBe(code);
});

test("a client cannot send more of a body than the router takes, whether in large frames or in tiny ones", async () => {
  const { port } = await start({ sandbox: () => {} });
  for (const bytes of [FRAME_BYTES, 1]) {
    const { ask, send, closed, socket } = await dial(port);
    const { length: _, ...open } = { length: 0, path: "/x", headers: [TOKEN, sandbox], method: "POST" };
    send({ type: "request", stream: 1, head: open });
    ask(2, {});
    for (let sent = 0; sent < 2 * STREAM_WINDOW && socket.readyState === WebSocket.OPEN; sent += bytes + 256) {
      send({ type: "data", stream: 1, bytes: new Uint8Array(bytes) });
    }
    expect(await closed).toEqual({ code: 1008, reason: "More was sent than allowed" });
  }
});

test("the bodies of a connection have a limit together, and a cancelled one makes room", async () => {
  const { port } = await start({ sandbox: () => {} });
  const { send, ask, closed, statusOf } = await dial(port);
  const fill = (stream: number) => {
    send({ type: "request", stream, head: { path: "/x", headers: [TOKEN, sandbox], method: "POST" } });
    for (let sent = 0; sent + FRAME_BYTES + 256 <= STREAM_WINDOW; sent += FRAME_BYTES + 256) {
      send({ type: "data", stream, bytes: new Uint8Array(FRAME_BYTES) });
    }
  };
  const many = 4 * CONNECTION_WINDOW / STREAM_WINDOW;
  for (let stream = 1; stream <= many; stream++) {
    fill(stream);
    send({ type: "cancel", stream, reason: "" });
  }
  ask(many + 1, {});
  await until(() => statusOf(many + 1) === 200);
  for (let stream = many + 2; stream <= 2 * many; stream++) fill(stream);
  expect(await closed).toEqual({ code: 1008, reason: "More was sent than allowed" });
});

test("a thousand streams are not opened: few for a client without a valid token, more for one with", async () => {
  const { port, seen } = await start({
    userOf: (token) => token.startsWith("ada") ? "ada" : undefined,
    delay: (token) => token.startsWith("slow") ? new Promise(() => {}) : undefined,
    apiProxy: () => Promise.resolve({ status: 200, chunks: endless(), text: () => Promise.resolve("") }),
    maxOpenRequests: 10_000,
  });
  const { ask, statusOf, frames } = await dial(port);
  const refused = () => frames.filter(({ type, stream }) => type === "answer" && statusOf(stream) === 429).length;
  for (let stream = 1; stream <= 500; stream++) ask(stream, { headers: [["Authorization", `Bearer slow-${stream}`]] });
  await until(() => refused() === 500 - MOST_UNPROVEN_STREAMS);
  const good = await dial(port);
  good.ask(1, {});
  await until(() => good.statusOf(1) === 200);
  for (let stream = 2; stream <= 1000; stream++) good.ask(stream, {});
  const answers = () => good.frames.filter(({ type }) => type === "answer");
  await untilThere(1000, answers);
  const opened = answers().filter(({ stream }) => good.statusOf(stream) === 200);
  expect(opened.length).toBe(MOST_STREAMS);
  expect(seen.reviews).toBeLessThan(MOST_UNPROVEN_STREAMS + 5);
});

test("a client that does not read gets one window of an answer, and the others are not held up", async () => {
  let produced = 0;
  async function* flood(): AsyncGenerator<Uint8Array> {
    for (;;) {
      produced += FRAME_BYTES;
      yield new Uint8Array(FRAME_BYTES);
    }
  }
  const { port } = await start({
    apiProxy: ({ path }) =>
      Promise.resolve(
        path.includes("watch") ? { status: 200, chunks: flood(), text: () => Promise.resolve("") } : answerOf(200, {}),
      ),
  });
  const { ask, of, ended, send } = await dial(port);
  ask(1, { path: `${API}?watch=true` });
  const bytes = () => of(1).reduce((sum, frame) => sum + (frame.type === "data" ? frame.bytes.length : 0), 0);
  await until(() => bytes() > STREAM_WINDOW - 2 * (FRAME_BYTES + 256));
  ask(2, {});
  await until(() => ended(2));
  expect(bytes()).toBeLessThanOrEqual(STREAM_WINDOW);
  expect(produced).toBeLessThan(2 * STREAM_WINDOW);
  send({ type: "credit", stream: 1, bytes: STREAM_WINDOW });
  await until(() => bytes() > STREAM_WINDOW);
});

test("a client that does not read its answers is cut off before they fill the memory", async () => {
  const { port } = await start({
    tunnel: { mostOfAddress: 1 },
    sandbox: (_, response) => void response.writeHead(200, { "X-Large": "x".repeat(50_000) }).end(),
  });
  const { socket, ask } = await dial(port);
  socket.pause();
  let stream = 0;
  // Heads need no credit. The kernel holds some megabytes, too.
  while (stream < 5000 && await isTaken(port)) ask(++stream, { path: "/x", headers: [TOKEN, sandbox] });
  expect(await isTaken(port)).toBe(false);
});

test("a client that floods the router with pings is cut off: each answer would take memory until it is read", async () => {
  const { port } = await start({});
  const { send, frames, closed } = await dial(port);
  for (let index = 0; index < 20_000; index++) send({ type: "ping", stream: 0 });
  expect(await closed).toEqual({ code: 1008, reason: "Too many pings" });
  expect(frames.filter(({ type }) => type === "pong").length).toBeLessThan(10_000);
});

test("a request whose body never comes is refused for its token, and does not keep the connection open", async () => {
  const { port } = await start({ userOf: () => undefined, tunnel: { silenceMs: 200 } });
  const { ask, statusOf, closed } = await dial(port);
  ask(1, { length: 10 });
  await until(() => statusOf(1) !== undefined);
  expect(statusOf(1)).toBe(401);
  expect(await closed).toEqual({ code: 1000, reason: "idle" });
});

/** Tells whether the one connection that the address may have is open. */
async function isTaken(port: number): Promise<boolean> {
  const { status, socket } = await dial(port);
  socket.terminate();
  return status === 429;
}

test("a connection without a request is closed, and one address has only so many", async () => {
  const { port, seen } = await start({ tunnel: { firstRequestMs: 20, mostOfAddress: 2 } });
  const first = await dial(port);
  expect(await first.closed).toEqual({ code: 1008, reason: "No request has come" });
  const { port: other } = await start({ tunnel: { mostOfAddress: 2 } });
  expect([(await dial(other)).status, (await dial(other)).status, (await dial(other)).status]).toEqual([101, 101, 429]);
  expect(seen.upgrades).toEqual([101]);
});

test("a client that no longer answers pings is closed", async () => {
  const { port } = await start({ tunnel: { silenceMs: 500, mostOfAddress: 1 } });
  const client = await dial(port);
  client.ask(1, {});
  await until(() => client.ended(1));
  await once(client.socket, "ping");
  expect((await dial(port)).status).toBe(429);
  client.socket.pause();
  await eventually(async () => (await dial(port)).status).toBe(101);
});

const CONNECT: [string, string] = ["Content-Type", "application/connect+json"];

test("a router that stops ends watches and terminals, waits for the other requests, and then closes", async () => {
  const answers: ServerResponse[] = [];
  const { port, drain } = await start({
    sandbox: (_, response) => void answers.push(response),
    apiProxy: () => Promise.resolve({ status: 200, chunks: endless(), text: () => Promise.resolve("") }),
  });
  const idle = await dial(port);
  const { ask, frames, of, ended, textOf, statusOf, closed } = await dial(port);
  ask(1, { path: `${API}?watch=true` });
  ask(2, { path: `/.hookbox/api/api/v1/namespaces/a/pods/b/log?follow=true` });
  ask(3, { path: "/terminal", headers: [TOKEN, sandbox, CONNECT] });
  ask(4, { path: "/download", headers: [TOKEN, sandbox] });
  await until(() => statusOf(1) === 200 && statusOf(2) === 200);
  await untilThere(2, () => answers);
  drain();
  await until(() => ended(1) && ended(2) && ended(3));
  expect(frames.find(({ type }) => type !== "answer" && type !== "data")).toEqual({ type: "goaway", stream: 0 });
  expect(of(3).at(-1)).toEqual({ type: "cancel", stream: 3, reason: "The router is shutting down." });
  // What was on its way to the router is still answered, unless it would never end.
  ask(5, { path: "/late", headers: [TOKEN, sandbox] });
  ask(6, { path: "/terminal", headers: [TOKEN, sandbox, CONNECT] });
  ask(7, { path: `${API}?watch=true` });
  await until(() => ended(6) && ended(7));
  await untilThere(3, () => answers);
  expect([statusOf(6), statusOf(7)]).toEqual([503, 503]);
  answers[2]?.end("late");
  await until(() => ended(5));
  answers[1]?.end("whole");
  await until(() => ended(4));
  expect([textOf(4), textOf(5)]).toEqual(["whole", "late"]);
  const stopping = { code: 1012, reason: "The router is shutting down." };
  expect([await closed, await idle.closed]).toEqual([stopping, stopping]);
  expect((await dial(port)).status).toBe(503);
});
