/** Connections, against a real HTTP server on loopback. @module */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AnswerTooLong } from "../../packages/kube/api.ts";
import { connect, openText } from "../../packages/kube/connection.ts";
import { until } from "../eventually.ts";
import { collectGarbage } from "../heap.ts";

const open: Server[] = [];
const end = new AbortController();

afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a server and connects to it. */
async function connected(listener: RequestListener, options: { timeoutMs?: number; silenceMs?: number } = {}) {
  const server = createServer(listener);
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pass = { headers: { Authorization: "Bearer t" }, tls: {} };
  const answers: string[] = [];
  const stop = new AbortController();
  const credentials = { server: url, namespace: undefined, current: () => Promise.resolve(pass) };
  const api = connect(credentials, {
    ...options,
    userAgent: "hookbox-test",
    signal: AbortSignal.any([end.signal, stop.signal]),
    onAnswer: (...answer) => answers.push(answer.join(" ")),
  });
  return { api, url, server, stop, answers, credentials };
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));

test("openText() hands text on as it comes, whatever its type; a refusal is an answer", async () => {
  const { credentials } = await connected((request, response) => {
    if (request.url === "/no") return void json(response, 403, { message: "you may not" });
    response.writeHead(200, { "Content-Type": "text/plain" }).write("one ");
    setTimeout(() => response.end(request.headers.accept), 20);
  });
  const options = { signal: new AbortController().signal, userAgent: "test" };
  const { chunks } = await openText(credentials, { path: "/log" }, options);
  let text = "";
  for await (const chunk of chunks) text += new TextDecoder().decode(chunk);
  expect(text).toBe("one */*");
  expect(await openText(credentials, { path: "/no" }, options)).toMatchObject({
    status: 403,
    body: { message: "you may not" },
  });
});

describe("send()", () => {
  test("gives up an answer that does not end, whatever garbage was collected since it began", async () => {
    const { api } = await connected((_, response) => void response.write("{"), { timeoutMs: 500 });
    const sending = api.send({ method: "GET", path: "/" });
    sending.catch(() => {});
    await sleep(100);
    await collectGarbage();
    await expect(sending).rejects.toThrow();
  });

  test("reads no more of an answer than it is told to, and goes on with the next", async () => {
    const { api } = await connected(({ url }, response) => {
      if (url === "/short") return void json(response, 200, { short: true });
      const more = setInterval(() => response.write("x".repeat(1000)), 1);
      response.once("close", () => clearInterval(more));
    });
    const read = (path: string, mostBytes: number) => api.send({ method: "GET", path, mostBytes });
    await expect(read("/endless", 20_000)).rejects.toThrow(AnswerTooLong);
    expect(await read("/short", 14)).toMatchObject({ status: 200, body: { short: true } });
    await expect(read("/short", 13)).rejects.toThrow("longer than 13 bytes");
  });

  test("sends JSON with credentials, and returns any answer", async () => {
    const asked: unknown[] = [];
    const { api, answers } = await connected(async (request, response) => {
      const { method, url, headers: { authorization, "content-type": type } } = request;
      asked.push([method, url, authorization, type, await text(request)]);
      json(response, method === "GET" ? 200 : 409, { message: "ä" });
    });
    expect(await api.send({ method: "GET", path: "/a", query: { limit: "5" } })).toEqual({
      status: 200,
      body: { message: "ä" },
    });
    expect((await api.send({ method: "PATCH", path: "/b", body: { x: "ö" } })).status).toBe(409);
    expect((await api.send({ method: "PATCH", path: "/b", patch: "apply", body: {} })).status).toBe(409);
    expect((await api.send({ method: "DELETE", path: "/c", body: {} })).status).toBe(409);
    expect(asked).toEqual([
      ["GET", "/a?limit=5", "Bearer t", undefined, ""],
      ["PATCH", "/b", "Bearer t", "application/merge-patch+json", '{"x":"ö"}'],
      ["PATCH", "/b", "Bearer t", "application/apply-patch+yaml", "{}"],
      ["DELETE", "/c", "Bearer t", "application/json", "{}"],
    ]);
    expect(answers).toEqual(["GET 200", "PATCH 409", "PATCH 409", "DELETE 409"]);
  });

  test("uses one connection for one request after the other", async () => {
    const ports = new Set<number | undefined>();
    const { api } = await connected((request, response) => {
      ports.add(request.socket.remotePort);
      json(response, 200, {});
    });
    for (let i = 0; i < 5; i++) await api.send({ method: "GET", path: "/" });
    expect(ports.size).toBe(1);
  });

  test("takes text that is no JSON for a message", async () => {
    const { api } = await connected((_, response) => response.writeHead(502).end("bad gateway\n"));
    expect(await api.send({ method: "GET", path: "/" })).toEqual({ status: 502, body: { message: "bad gateway" } });
  });

  test("names the server that does not answer, and why", async () => {
    const { api, url } = await connected(() => {}, { timeoutMs: 20 });
    await expect(api.send({ method: "GET", path: "/" })).rejects.toThrow(
      `Cannot reach ${url}: no answer in 0.02 s`,
    );
    open.splice(0).forEach((server) => server.closeAllConnections());
    const { api: refused, server } = await connected(() => {});
    server.close();
    await expect(refused.send({ method: "GET", path: "/" })).rejects.toThrow(/ECONNREFUSED|Connection refused/);
  });

  test("ends with the signal", async () => {
    const { api, stop } = await connected(() => stop.abort(new Error("no longer leading")));
    await expect(api.send({ method: "GET", path: "/" })).rejects.toThrow("no longer leading");
    await expect(api.send({ method: "GET", path: "/" })).rejects.toThrow("no longer leading");
  });

  test("ends with the request's own signal, which a request that is over leaves alone", async () => {
    const own = new AbortController();
    const { api } = await connected(({ url }, response) => {
      if (url === "/wait") own.abort(new Error("not wanted any more"));
      else response.end("{}");
    });
    const left = vi.spyOn(own.signal, "removeEventListener");
    expect(await api.send({ method: "GET", path: "/", signal: own.signal })).toMatchObject({ status: 200 });
    expect(left).toHaveBeenCalledOnce();
    const waiting = api.send({ method: "GET", path: "/wait", signal: own.signal });
    await expect(waiting).rejects.toThrow("not wanted any more");
    await expect(api.send({ method: "GET", path: "/", signal: own.signal })).rejects.toThrow("not wanted any more");
  });
});

describe("watch()", () => {
  const EVENTS = [{ type: "ADDED", object: { name: "ä" } }, { type: "MODIFIED", object: { name: "\n" } }];
  const LINES = EVENTS.map((event) => `${JSON.stringify(event)}\n`).join("");

  async function read(watching: { events: AsyncIterable<unknown> }, into: unknown[]): Promise<void> {
    for await (const event of watching.events) into.push(event);
  }

  test("reads events however the bytes are cut, and ends with the answer", async () => {
    let asked: string | undefined;
    const { api, answers } = await connected(async (request, response) => {
      asked = request.url;
      for (const byte of Buffer.from(LINES)) {
        response.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      response.end();
    });
    const events: unknown[] = [];
    await read(await api.watch("/things", { resourceVersion: "7" }), events);
    expect(events).toEqual(EVENTS);
    expect(asked).toBe("/things?resourceVersion=7&watch=true");
    expect(answers).toEqual(["WATCH 200"]);
  });

  test("throws where the connection breaks, after what came whole", async () => {
    const { api } = await connected((_, response) => {
      response.write(`${LINES}{"type":"ADD`, () => response.destroy());
    });
    const events: unknown[] = [];
    await expect(read(await api.watch("/", {}), events)).rejects.toThrow();
    expect(events).toEqual(EVENTS);
  });

  test("throws where the server goes silent, be it before or after the first event", async () => {
    let isSilent = true;
    const { api } = await connected((_, response) => {
      if (isSilent) return;
      response.write(LINES);
    }, { silenceMs: 60 });
    await expect(api.watch("/", {})).rejects.toThrow("silence for 0.06 s");
    isSilent = false;
    const events: unknown[] = [];
    await expect(read(await api.watch("/", {}), events)).rejects.toThrow("silence for 0.06 s");
    expect(events).toEqual(EVENTS);
  });

  test("ends with its signal, whatever garbage was collected since it began", async () => {
    const { api, stop } = await connected((_, response) => void response.write(LINES));
    const events: unknown[] = [];
    const reading = (async () => await read(await api.watch("/", {}), events))();
    reading.catch(() => {});
    await until(() => events.length === EVENTS.length);
    await collectGarbage();
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  test("lasts as long as something comes now and then", async () => {
    const { api } = await connected(async (_, response) => {
      for (let i = 0; i < 6; i++) {
        response.write(LINES);
        await sleep(200);
      }
      response.end();
    }, { silenceMs: 1000 });
    const events: unknown[] = [];
    await read(await api.watch("/", {}), events);
    expect(events).toHaveLength(12);
  });

  test("returns a refusal without events", async () => {
    const { api } = await connected((_, response) => json(response, 410, { message: "too old" }));
    const watching = await api.watch("/", {});
    const events: unknown[] = [];
    await read(watching, events);
    expect(watching).toMatchObject({ status: 410, body: { message: "too old" } });
    expect(events).toEqual([]);
  });

  test("ends with the signal, and lets go of the connection", async () => {
    const closed = Promise.withResolvers<void>();
    const { api, stop } = await connected((request: IncomingMessage, response) => {
      request.socket.once("close", () => closed.resolve());
      response.write(LINES);
    });
    const watching = await api.watch("/", {});
    setImmediate(() => stop.abort());
    await expect(read(watching, [])).rejects.toThrow();
    await closed.promise;
    expect(stop.signal.aborted).toBe(true);
  });
});

describe("a signal of the caller", () => {
  test("gives a request up", async () => {
    const { api } = await connected(() => {});
    const stop = new AbortController();
    const sent = api.send({ method: "GET", path: "/a", signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(sent).rejects.toThrow("enough");
  });

  test("ends a watch that is silent", async () => {
    const { api, server } = await connected((_, response) => void response.writeHead(200).flushHeaders());
    const stop = new AbortController();
    const { events } = await api.watch("/a", {}, stop.signal);
    const next = events[Symbol.asyncIterator]().next();
    const closed = new Promise((resolve) => server.getConnections(() => resolve(undefined)));
    stop.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    await closed;
  });
});
