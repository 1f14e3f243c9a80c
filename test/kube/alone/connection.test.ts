/** Connections, against a real HTTP server on loopback. @module */
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { AnswerTooLong } from "../../../packages/kube/api.ts";
import { openText } from "../../../packages/kube/connection.ts";
import { collectGarbage } from "../../heap.ts";
import { connected, json } from "../connected.ts";

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

  test("reads no more of an answer than it may, and goes on with the next", async () => {
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
    const { api, url, server: silent } = await connected(() => {}, { timeoutMs: 20 });
    await expect(api.send({ method: "GET", path: "/" })).rejects.toThrow(
      `Cannot reach ${url}: no answer in 0.02 s`,
    );
    silent.closeAllConnections();
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
