import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeApi } from "../kube/fakeapi.ts";
import { makeCertificate } from "./certificate.ts";
import { dial, exchange, fetchFrom, openSession, readUntil } from "./client.ts";
import { naming, putPod, putReady, putSandbox, startBackend, startRouter } from "./stage.ts";
import { until } from "../eventually.ts";
import { listen } from "../../packages/router/server.ts";

interface Reply {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Code that the stream was ended with; 0: well. */
  code: number;
}

function ask(client: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Uint8Array): Promise<Reply> {
  return new Promise((resolve) => {
    const stream = client.request(headers, { endStream: body === undefined });
    const reply: Reply = { headers: {}, body: Buffer.alloc(0), code: 0 };
    const chunks: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("response", (got) => reply.headers = got);
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("close", () => resolve({ ...reply, body: Buffer.concat(chunks), code: stream.rstCode ?? 0 }));
    if (body) stream.end(body);
  });
}

async function start() {
  const api = createFakeApi();
  putReady(api);
  const stage = await startRouter(api, {}, true);
  return { ...stage, api, client: openSession(stage.url) };
}

describe("HTTP/2 in the clear", () => {
  test("passes bodies both ways, joined cookies, several Set-Cookies, and no pseudo-header", async () => {
    const { client, port } = await start();
    let seen: string[] = [];
    const backend = await startBackend((incoming, answer) => {
      seen = incoming.rawHeaders;
      answer.setHeader("Set-Cookie", ["a=1", "b=2"]).setHeader("Keep-Alive", "timeout=9");
      incoming.pipe(answer);
    });
    const body = randomBytes(500_000);
    const headers = { ":method": "POST", ":path": "/x?y", ...naming(backend.port), cookie: ["c=1", "d=2"] };
    const reply = await ask(client, headers, body);
    expect(reply.headers).toMatchObject({ ":status": 200, "set-cookie": ["a=1", "b=2"] });
    expect(reply.headers).not.toHaveProperty("keep-alive");
    expect(reply.body.equals(body)).toBe(true);
    expect(seen.filter((name) => name.startsWith(":"))).toEqual([]);
    const cookies = seen.flatMap((name, i) => name.toLowerCase() === "cookie" ? [seen[i + 1]] : []);
    expect(cookies).toEqual(["c=1; d=2"]);
    expect(seen[seen.indexOf("X-Forwarded-Host") + 1]).toBe(`127.0.0.1:${port}`);
  });

  test("frames what has no length, and what has no body", async () => {
    const { client } = await start();
    const framing: unknown[] = [];
    const backend = await startBackend(({ headers, method }, answer) => {
      framing.push([method, headers["transfer-encoding"], headers["content-length"]]);
      answer.end();
    });
    const headers = naming(backend.port);
    await ask(client, { ":method": "POST", ...headers }, Buffer.from("x"));
    await ask(client, { ":method": "POST", ...headers });
    await ask(client, { ":method": "GET", ...headers });
    expect(framing).toEqual([["POST", "chunked", undefined], ["POST", undefined, "0"], ["GET", undefined, undefined]]);
  });

  test("an end in the middle is one, both ways", async () => {
    const { client } = await start();
    let closed = false;
    const backend = await startBackend((incoming, answer) => {
      incoming.socket.once("close", () => closed = true);
      answer.write("x");
      if (incoming.url === "/break") setTimeout(() => answer.destroy(), 20);
    });
    const broken = await ask(client, { ":path": "/break", ...naming(backend.port) });
    expect(broken.code).not.toBe(0);
    await until(() => closed);
    closed = false;
    const stream = client.request({ ":path": "/", ...naming(backend.port) });
    stream.on("error", () => {});
    stream.once("data", () => stream.close(8));
    await until(() => closed);
  });

  test("an upload whose connection is lost is no whole body, and one that is refused does not hang", async () => {
    const { client, port } = await start();
    const seen: string[] = [];
    const backend = await startBackend((incoming, answer) => {
      if (incoming.url === "/refuse") return void answer.writeHead(413).end("no");
      incoming.on("data", (chunk) => seen.push(String(chunk)));
      incoming.once("end", () => seen.push("end")).once("aborted", () => seen.push("aborted"));
    });
    const other = connect(`http://127.0.0.1:${port}`).on("error", () => {});
    const lost = other.request({ ":method": "POST", ":path": "/", ...naming(backend.port) }, { endStream: false });
    lost.on("error", () => {}).write("part");
    await until(() => seen.includes("part"));
    other.destroy();
    await until(() => seen.length > 1);
    expect(seen, "the connection is lost").toEqual(["part", "aborted"]);
    const refused = client.request({ ":method": "POST", ":path": "/refuse", ...naming(backend.port) }, {
      endStream: false,
    });
    refused.on("error", () => {}).write("part");
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => refused.once("response", resolve));
    expect(headers[":status"]).toBe(413);
    refused.close();
    expect((await ask(client, { ":path": "/refuse", ...naming(backend.port) })).body.toString()).toBe("no");
  });

  test("refuses in JSON, and is no proxy", async () => {
    const { client } = await start();
    const missing = await ask(client, { ":path": "/", ...naming(1, "nobody") });
    expect(missing.headers[":status"]).toBe(404);
    expect(JSON.parse(missing.body.toString())).toHaveProperty("detail");
    const tunnel = await ask(client, { ":method": "CONNECT", ":authority": "example.com:443" });
    expect(tunnel.headers[":status"]).toBe(405);
  });

  test("holds and wakes", async () => {
    const { client, api } = await start();
    putSandbox(api, "other", { spec: { operatingMode: "Suspended" } });
    const backend = await startBackend((_, answer) => answer.end("awake"));
    const reply = ask(client, { ":path": "/", ...naming(backend.port, "other") });
    await until(() => api.requests.some(({ method }) => method === "PATCH"));
    putPod(api, "other");
    expect((await reply).body.toString()).toBe("awake");
  });

  test("does not keep HTTP/1.1 from the same port, first bytes in parts included", async () => {
    const { port } = await start();
    const backend = await startBackend((_, answer) => answer.end("one"));
    expect(await fetchFrom(port, { headers: naming(backend.port) })).toMatchObject({ status: 200, text: "one" });
    const socket = await dial(port);
    const head = Object.entries(naming(backend.port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    for (const part of ["P", "O", `ST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n${head}\r\n`]) {
      socket.write(part);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await readUntil(socket, "one")).toContain("200 OK");
  });
});

test.for(["GET", "POST"])(
  "a %s that only calls itself HTTP/2 is answered as the HTTP/1.1 that it is",
  async (method) => {
    const { port } = await start();
    const backend = await startBackend((incoming, answer) => incoming.pipe(answer));
    const head = Object.entries(naming(backend.port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const text = await exchange(port, `${method} / HTTP/2.0\r\nHost: localhost\r\nConnection: close\r\n${head}\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  },
);

test("TLS: both versions on one port, and X-Forwarded-Proto says so", async () => {
  const { router } = await start();
  const server = await listen(router.handler, {
    host: "127.0.0.1",
    port: 0,
    graceMs: 0,
    h2c: false,
    tls: makeCertificate(),
  });
  onTestFinished(() => server.stop());
  const backend = await startBackend((incoming, answer) => answer.end(String(incoming.headers["x-forwarded-proto"])));
  backend.server.on("upgrade", (_, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nraw bytes");
  });
  const reply = await ask(openSession(`https://127.0.0.1:${server.port}`), { ":path": "/", ...naming(backend.port) });
  expect(reply.body.toString()).toBe("https");
  const head = Object.entries(naming(backend.port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const say = (more: string) =>
    new Promise<string>((resolve) => {
      const socket = connectTls({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
      let text = "";
      socket.on("data", (chunk) => text += chunk).on("error", () => {}).on("close", () => resolve(text));
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${more}${head}\r\n`);
    });
  expect(await say("Connection: close\r\n")).toMatch(/200 OK.*https$/s);
  expect(await say("Connection: Upgrade\r\nUpgrade: raw\r\n")).toMatch(/101 Switching Protocols.*raw bytes$/s);
});
