/** What a hostile program in a sandbox has tried against the proxy, each with what it could gain. @module */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { until } from "../eventually.ts";
import { aStage, connectTo, exchange, getPlain, open, SECRET, secured, type Stage, tunnel } from "./proxystage.ts";

const ANSWER = /HTTP\/1.1 \d{3} [^]*\r\n\r\n/;
let stage: Stage;
beforeAll(async () => {
  stage = await aStage();
});
beforeEach(() => {
  stage.seen.length = 0;
});
afterAll(async () => {
  await stage.proxy.stop();
  open.forEach((server) => server.close());
});

/** Sends a request in a decrypted tunnel to the host that gets the secret. */
async function inside(bytes: string | Uint8Array): Promise<string> {
  const { socket } = await tunnel(stage.proxy, "api.example:443");
  return await exchange(await secured(socket, "api.example", { ca: stage.proxy.ca }), bytes, ANSWER);
}

test("after a tunnel has failed, its host is not that of the next request", async () => {
  const { proxy, ports, seen } = stage;
  const socket = await connectTo(proxy);
  // Another host that is allowed, with TLS.
  await exchange(socket, "GET http://pypi.example:443/ HTTP/1.1\r\nHost: pypi.example:443\r\n\r\n", ANSWER);
  stage.isDown = true;
  const connecting = "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n";
  expect(await exchange(socket, connecting, /HTTP\/1.1 502 [^]*\r\n\r\n/)).toMatch("HTTP/1.1 502");
  stage.isDown = false;
  const request = `GET https://127.0.0.1:${ports[443]}/ HTTP/1.1\r\nHost: api.example\r\n\r\n`;
  await exchange(socket, request, /HTTP\/1.1 (200|403) [^]*\r\n\r\n/);
  expect(seen).toEqual([]);
});

test("a whole URL in a tunnel is for the host of the tunnel, and the server gets its path alone", async () => {
  expect(await inside("GET https://other.example/x HTTP/1.1\r\nHost: api.example\r\n\r\n")).toMatch(/^HTTP\/1.1 403/);
  expect(await inside("GET api.example HTTP/1.1\r\nHost: api.example\r\n\r\n")).toMatch(/^HTTP\/1.1 4/);
  expect(stage.seen).toEqual([]);
  expect(await inside("GET https://api.example/x HTTP/1.1\r\nHost: api.example\r\n\r\n")).toMatch(/^HTTP\/1.1 200/);
  expect(stage.seen).toMatchObject([{ path: "/x", host: "api.example" }]);
});

test.each([
  "api.example, other.example",
  "api.example:443, other.example",
  "api.example:x@other.example",
  "[api.example]other.example",
  "api.example:443:443",
  "api.example/",
  "api.example#",
  "api.example\\other.example",
])("the Host %j is not api.example", async (host) => {
  expect(await inside(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatch(/^HTTP\/1.1 4/);
  expect(stage.seen).toEqual([]);
});

test("a Host that is no text ends the request", async () => {
  const bytes = Buffer.concat([
    Buffer.from("GET / HTTP/1.1\r\nHost: api.example"),
    Buffer.from([0xff]),
    Buffer.from("\r\n\r\n"),
  ]);
  expect(await inside(bytes)).not.toMatch(/^HTTP\/1.1 200/);
  const socket = await connectTo(stage.proxy);
  const plain = Buffer.concat([
    Buffer.from("GET http://pypi.example/ HTTP/1.1\r\nHost: pypi"),
    Buffer.from([0xff, 13, 10, 13, 10]),
  ]);
  expect(await exchange(socket, plain, ANSWER)).not.toMatch(/^HTTP\/1.1 200/);
  expect(stage.seen).toEqual([]);
});

test.each(["evil+x.example", "evil..example", "a b"])("TLS for %j, which is no name, is not passed on", async (sni) => {
  const { socket } = await tunnel(stage.proxy, "pypi.example:443");
  const anyName = { ca: stage.cert, checkServerIdentity: () => undefined };
  await expect(secured(socket, sni, anyName)).rejects.toThrow();
});

test.each(["TRACE", "TRACK", "trace"])("%s would show the header", async (method) => {
  expect(await inside(`${method} / HTTP/1.1\r\nHost: api.example\r\n\r\n`)).toMatch(/^HTTP\/1.1 403/);
  expect(stage.seen).toEqual([]);
});

test("port 443 is for TLS alone, and a host with a header is, too", async () => {
  expect(await getPlain(stage.proxy, "http://pypi.example:443/")).toMatchObject({ status: 403 });
  expect(await getPlain(stage.proxy, "http://api.example:443/")).toMatchObject({ status: 403 });
  expect(stage.seen).toEqual([]);
});

test("a header that would remove, repeat or rename the secret's does not reach the server", async () => {
  const head = [
    "Connection: close, authorization",
    "x_api_key: mine",
    "X-Api-Key: mine",
    "Upgrade: h2c",
    "HTTP2-Settings: AA",
  ];
  expect(await inside(`GET / HTTP/1.1\r\nHost: api.example\r\n${head.join("\r\n")}\r\n\r\n`)).toMatch(/^HTTP\/1.1 200/);
  const { headers } = stage.seen[0]!;
  expect(headers).toMatchObject({ authorization: `Bearer ${SECRET}`, "x-api-key": SECRET, connection: "close" });
  expect(Object.keys(headers)).not.toContain("x_api_key");
  expect(Object.keys(headers)).not.toContain("upgrade");
});

test("a line break in a header, in any spelling, ends the request", async () => {
  for (const value of ["a\rb", "a\n b", "a\r\n b", "a\u0000b", "a\u000bb"]) {
    expect(await inside(`GET / HTTP/1.1\r\nHost: api.example\r\nx-a: ${value}\r\n\r\n`)).not.toMatch(/^HTTP\/1.1 200/);
  }
  expect(stage.seen).toEqual([]);
});

test("the proxy has no pages of its own but its health", async () => {
  expect(await getPlain(stage.proxy, "http://mitm.it/")).toEqual({ status: 200, body: "hello from mitm.it" });
  const ask = async (path: string) =>
    await exchange(
      await connectTo(stage.proxy),
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${stage.proxy.port}\r\n\r\n`,
      /ok$|Refused.*\n$/,
    );
  expect(await ask("/healthz")).toMatch(/^HTTP\/1.1 200 [^]*ok$/);
  expect(await ask("/")).toMatch(/^HTTP\/1.1 403/);
});

test("a name with other letters than ASCII's is allowed in its encoded form", async () => {
  expect((await tunnel(stage.proxy, "xn--mnchen-3ya.example:443")).status).toBe(200);
  expect((await tunnel(stage.proxy, "xn--bcher-kva.example:443")).reason).toBe(
    "xn--bcher-kva.example:443 is not allowed",
  );
});

test("a head without an end, and an endless first message of TLS, are ended", async () => {
  const socket = await connectTo(stage.proxy);
  const line = `x-a: ${"a".repeat(1000)}\r\n`;
  await exchange(socket, `GET http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\n${line.repeat(100)}`);
  const { socket: other } = await tunnel(stage.proxy, "api.example:443");
  // A record of TLS with the first 16 KB of a ClientHello of 100 KB.
  const record = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0, 1, 0x01, 0x86, 0xa0, 3, 3]), Buffer.alloc(0x4000 - 6)]);
  await exchange(other, Buffer.concat([record, record]));
  expect(stage.seen).toEqual([]);
  expect(await getPlain(stage.proxy, "http://pypi.example/")).toMatchObject({ status: 200 });
});

test("a sandbox has so many connections, and gets new ones when others have ended", async () => {
  const works = () => getPlain(stage.proxy, "http://pypi.example/").then(({ status }) => status === 200, () => false);
  const sockets: Socket[] = [];
  await until(async () => {
    // One at a time: the kernel keeps some that come together from mitmproxy.
    sockets.push(await connectTo(stage.proxy));
    return sockets.length > 250 && !await works();
  });
  expect(sockets.length).toBeLessThan(300);
  sockets.forEach((socket) => socket.destroy());
  await until(works);
});
