/**
 * mitmproxy with hookbox's addon: what a sandbox reaches through it, and what an attacker in a sandbox does not. The
 * servers are on this machine, and names resolve to it. @module
 */
import { connect as connectHttp2, createSecureServer } from "node:http2";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { Answer } from "../../packages/egress/answer.ts";
import { eventually } from "../eventually.ts";
import { startProxy } from "./mitmproxy.ts";
import {
  aStage,
  get,
  getPlain,
  listening,
  open,
  SECRET,
  secured,
  type Seen,
  serverCertificate,
  type Stage,
  tunnel,
} from "./proxystage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await aStage();
});
beforeEach(() => {
  stage.seen.length = 0;
  stage.questions.length = 0;
});
afterAll(async () => {
  await stage.proxy.stop();
  open.forEach((server) => server.close());
});

test("an allowed host is reached end to end: the client sees the certificate of the server", async () => {
  const { proxy, seen, cert } = stage;
  expect(await get(proxy, "pypi.example", cert)).toEqual({ status: 200, body: "hello from pypi.example" });
  expect(seen.map(({ headers }) => headers["authorization"])).toEqual([undefined]);
  expect(await getPlain(proxy, "http://pypi.example/simple", { authorization: "mine" })).toMatchObject({ status: 200 });
  expect(seen[1]).toMatchObject({ host: "pypi.example", path: "/simple", headers: { authorization: "mine" } });
});

test("a host of the list of headers gets the secret, in place of what the sandbox has sent", async () => {
  const { proxy, seen } = stage;
  const mine = { authorization: "Bearer mine", Authorization: "Bearer other" };
  expect(await get(proxy, "api.example", proxy.ca, { headers: mine, body: "x".repeat(3_000_000) })).toMatchObject({
    status: 200,
  });
  expect(seen).toMatchObject([{ headers: { authorization: `Bearer ${SECRET}` } }]);
  expect(seen[0]?.body).toHaveLength(3_000_000);
  expect(proxy.log() + proxy.policyLog.join()).not.toContain(SECRET);
});

test("HTTP/2 passes unread; requests that get a header are HTTP/1", async () => {
  const { proxy, seen, cert } = stage;
  const ALPNProtocols = ["h2", "http/1.1"];
  const { socket } = await tunnel(proxy, "pypi.example:443");
  const tls = await secured(socket, "pypi.example", { ca: cert, ALPNProtocols });
  const session = connectHttp2("https://pypi.example", { createConnection: () => tls });
  onTestFinished(() => session.destroy());
  expect(await text(session.request({ ":path": "/a" }))).toMatch("hello from pypi.example");
  expect(seen[0]?.version).toBe("2.0");
  const read = await tunnel(proxy, "api.example:443");
  expect((await secured(read.socket, "api.example", { ca: proxy.ca, ALPNProtocols })).alpnProtocol).toBe("http/1.1");
  await expect(
    secured((await tunnel(proxy, "api.example:443")).socket, "api.example", {
      ca: proxy.ca,
      ALPNProtocols: ["h2"],
    }).then((only) => only.alpnProtocol),
  ).resolves.toBe(false);
});

test("a WebSocket gets the header when it opens, and its messages pass", async () => {
  const { proxy, seen } = stage;
  const { socket } = await tunnel(proxy, "api.example:443");
  const tls = await secured(socket, "api.example", { ca: proxy.ca });
  const ws = new WebSocket("wss://api.example/live", { createConnection: () => tls });
  onTestFinished(() => ws.terminate());
  const heard: string[] = [];
  ws.on("open", () => ["one", "two"].forEach((word) => ws.send(word)));
  ws.on("message", (data) => heard.push(String(data)));
  await eventually(() => heard).toEqual(["echo one", "echo two"]);
  expect(seen).toMatchObject([{ version: "ws", headers: { authorization: `Bearer ${SECRET}` } }]);
});

test("a refusal is logged and counted once: by the policy that has decided, or as a report of the proxy", async () => {
  const { proxy, cert } = stage;
  const lines = (message: string) =>
    proxy.policyLog.map((line) => JSON.parse(line)).filter((line) => line.message === message);
  const before = lines("Refused").length;
  await getPlain(proxy, "http://secret.other.example/path?token=t0ken");
  await eventually(() => lines("Refused").slice(before)).toMatchObject([
    { host: "secret.other.example", port: 80, cause: "not_allowed", status: 403 },
  ]);
  // The tunnel is allowed, and TLS in it is for another name.
  const { socket } = await tunnel(proxy, "pypi.example:443");
  await expect(secured(socket, "evil.example", { ca: cert })).rejects.toThrow();
  await eventually(() => lines("Refused").slice(before + 1)).toMatchObject([{
    ...{ host: "pypi.example", port: 443, cause: "proxy", status: 403, sandbox: "box" },
    reason: "TLS is for evil.example, but the tunnel is for pypi.example",
  }]);
  await getPlain(proxy, "http://pypi.example/", {}, "TRACE");
  await eventually(() => lines("Refused").slice(before + 2)).toMatchObject([{
    host: "pypi.example",
    port: 80,
    cause: "proxy",
  }]);
  expect(proxy.policyLog.join()).not.toMatch(/t0ken|\/path/);
  expect(await proxy.metrics.text()).toMatch(/^hookbox_egress_refused_total\{reason="proxy"\} [2-9]/m);
});

test("the proxy reports its open connections", async () => {
  const { proxy } = stage;
  await tunnel(proxy, "pypi.example:443");
  await eventually(() => proxy.metrics.text()).toMatch(/^hookbox_egress_open_connections [1-9]/m);
});

test("a redirect to another host takes no secret there", async () => {
  const { proxy } = stage;
  expect(await get(proxy, "api.example", proxy.ca, { path: "/redirect" })).toMatchObject({ status: 302 });
  expect(await get(proxy, "other.example", proxy.ca)).toMatchObject({
    status: 403,
    body: 'hookbox-egress; error=http_request_denied; details="other.example:443 is not allowed"',
  });
});

test.each([
  ["other.example:443", "other.example:443 is not allowed"],
  ["evil.pypi.example:443", "evil.pypi.example:443 is not allowed"],
  ["pypi.example:22", "pypi.example:22 is not allowed"],
  ["pypi.example:8443", "pypi.example:8443 is not allowed"],
  ["127.0.0.2:443", "127.0.0.2:443 is not allowed"],
  ["[::1]:443", "::1:443 is not allowed"],
  ["169.254.169.254:80", "169.254.169.254:80 is not allowed"],
  ["127.1:443", "127.1?? is not a host name"],
  ["0x7f000001:443", "0x7f000001?? is not a host name"],
  ["private.example:443", "private.example: 169.254.169.254 is not a public address"],
])("a tunnel to %s is refused, and nothing is connected to", async (to, reason) => {
  const { proxy, seen } = stage;
  const { status, reason: shown, proxyStatus } = await tunnel(proxy, to);
  expect(status).toBe(403);
  expect(shown).toContain(reason.replaceAll("??", "?"));
  expect(proxyStatus).toContain(reason.replaceAll("??", "?"));
  expect(seen).toEqual([]);
});

test("an address of an allowed network is reached", async () => {
  const { proxy } = stage;
  expect((await tunnel(proxy, "127.0.0.1:443")).status).toBe(200);
});

test("a port that the list names carries any protocol, also one whose server speaks first", async () => {
  const { proxy } = stage;
  const { status, socket } = await tunnel(proxy, "git.example:22");
  expect(status).toBe(200);
  let heard = "";
  socket.on("data", (data) => heard += data);
  await eventually(() => heard).toBe("SSH-2.0-server\r\n");
  socket.write("SSH-2.0-client\r\n");
  await eventually(() => heard).toBe("SSH-2.0-server\r\necho SSH-2.0-client\r\n");
});

test("TLS for another name than the tunnel's is not passed on", async () => {
  const { proxy, seen, cert } = stage;
  const reason = "TLS is for other.example, but the tunnel is for pypi.example";
  // The proxy answers in place of the server, to say so.
  expect(await get(proxy, "pypi.example", proxy.ca, { sni: "other.example" })).toMatchObject({
    status: 403,
    body: expect.stringContaining(reason),
  });
  await expect(get(proxy, "pypi.example", cert, { sni: "other.example" })).rejects.toThrow();
  expect(await get(proxy, "api.example", proxy.ca, { sni: "other.example" })).toMatchObject({ status: 403 });
  expect(seen).toEqual([]);
});

test("a request for another host than the tunnel's gets no secret, and is refused", async () => {
  const { proxy, seen } = stage;
  for (const host of ["other.example", "pypi.example", "api.example.evil.example", "api.example@evil.example"]) {
    expect((await get(proxy, "api.example", proxy.ca, { headers: { host } })).status, host).toBeGreaterThanOrEqual(400);
  }
  expect(await getPlain(proxy, "http://pypi.example/", { host: "other.example" })).toMatchObject({ status: 403 });
  const raw = async (head: string) => {
    const { socket } = await tunnel(proxy, "api.example:443");
    const tls = await secured(socket, "api.example", { ca: proxy.ca });
    tls.write(`GET / HTTP/1.1\r\n${head}\r\n`);
    let heard = "";
    tls.on("data", (data) => heard += data);
    await eventually(() => heard).toMatch(/^HTTP\/1.1 \d/);
    return heard;
  };
  expect(await raw("Host: api.example\r\nHost: other.example\r\n")).toMatch(/^HTTP\/1.1 4/);
  expect(seen).toEqual([]);
  // Without a name, the server would choose one.
  expect(await raw("Host: \r\n")).toMatch("hello from api.example");
  expect(await get(proxy, "api.example", proxy.ca, { headers: { host: "API.example:443" } })).toMatchObject({
    status: 200,
  });
});

test("an unencrypted request to a host that gets a secret is refused", async () => {
  const { proxy, seen } = stage;
  expect(await getPlain(proxy, "http://api.example/")).toEqual({
    status: 403,
    body: "Refused by the egress proxy: api.example gets a header with a secret, so it is only reached over HTTPS\n",
  });
  expect((await tunnel(proxy, "api.example:80")).status).toBe(403);
  expect(await getPlain(proxy, "https://api.example/")).toMatchObject({ status: 403 });
  expect(seen).toEqual([]);
});

test.each([
  "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
  "SSH-2.0-x\r\n",
  "\x05\x01\x00",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
])(
  "%j in a tunnel to a port of TLS reaches no server",
  async (bytes) => {
    const { proxy, seen } = stage;
    for (const host of ["api.example", "pypi.example"]) {
      const { status, socket } = await tunnel(proxy, `${host}:443`);
      expect(status).toBe(200);
      const ended = new Promise((resolve) => socket.once("close", resolve));
      let heard = "";
      socket.on("data", (data) => heard += data);
      socket.end(bytes);
      await ended;
      expect(heard).not.toContain("hello");
      expect(heard).not.toContain(SECRET);
    }
    expect(seen).toEqual([]);
  },
);

test("a tunnel in a tunnel is refused, with and without TLS", async () => {
  const { proxy, seen } = stage;
  const inner = (socket: Duplex) =>
    new Promise<string>((resolve) => {
      let heard = "";
      socket.on("data", (data) => heard += data);
      socket.once("close", () => resolve(heard));
      socket.on("error", () => {});
      socket.end("CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n");
    });
  const plain = await tunnel(proxy, "pypi.example:80");
  expect(await inner(plain.socket)).not.toMatch(/^HTTP\/1.1 200/);
  const { socket } = await tunnel(proxy, "api.example:443");
  expect(await inner(await secured(socket, "api.example", { ca: proxy.ca }))).not.toMatch(/^HTTP\/1.1 200/);
  expect(seen).toEqual([]);
});

test("a header that is smuggled behind a body, or in one, gets no further than its request", async () => {
  const { proxy, seen } = stage;
  const { socket } = await tunnel(proxy, "api.example:443");
  const tls = await secured(socket, "api.example", { ca: proxy.ca });
  let heard = "";
  tls.on("data", (data) => heard += data);
  const inner = "GET /smuggled HTTP/1.1\r\nHost: other.example\r\n\r\n";
  tls.write(
    `POST /a HTTP/1.1\r\nHost: api.example\r\nContent-Length: ${inner.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
  );
  await eventually(() => heard).toMatch(/^HTTP\/1.1 [45]/);
  expect(seen.map(({ path }) => path)).not.toContain("/smuggled");
});

test("a server whose certificate nobody trusts gets no secret", async () => {
  const { proxy, seen } = stage;
  const untrusted = await startProxy(
    (question) =>
      Promise.resolve({
        allowed: true,
        sandbox: { name: "box", uid: "1" },
        host: question.host,
        address: "127.0.0.1",
        port: question.port,
        inspect: true,
        raw: false,
        headers: [["Authorization", SECRET]],
      }),
    // Trusts its own authority alone, and not the servers'.
    proxy.ca,
  );
  onTestFinished(() => untrusted.stop());
  const server = createSecureServer(
    { allowHTTP1: true, ...serverCertificate(["api.example"]) },
    () => seen.push({} as Seen),
  );
  const port = await listening(server as unknown as Server);
  const { socket } = await tunnel(untrusted, `api.example:${port}`);
  const tls = await secured(socket, "api.example", { ca: untrusted.ca });
  let heard = "";
  tls.on("data", (data) => heard += data);
  tls.write("GET / HTTP/1.1\r\nHost: api.example\r\n\r\n");
  await eventually(() => heard).toMatch(/^HTTP\/1.1 502/);
  expect(seen).toEqual([]);
});

test("whatever a claim does not need, it does not reach", async () => {
  const { proxy } = await aStage("api.example");
  onTestFinished(() => proxy.stop());
  expect((await tunnel(proxy, "pypi.example:443")).proxyStatus).toContain(
    "pypi.example:443 is not allowed by the claim",
  );
  expect(await get(proxy, "api.example", proxy.ca)).toMatchObject({ status: 200 });
});

test("a large refused upload is ended, and a small one gets the reason", async () => {
  const { proxy } = stage;
  const url = "http://other.example/";
  expect(await getPlain(proxy, url, {}, "POST", "x".repeat(1000))).toMatchObject({ status: 403 });
  await expect(getPlain(proxy, url, {}, "POST", "x".repeat(2_000_000))).rejects.toThrow();
  await expect(getPlain(proxy, url, { "transfer-encoding": "chunked" }, "POST", "x")).rejects.toThrow();
});

test.each(["nobody answers", "the answer is no JSON", "the answer is an error"])(
  "if %s, nothing is allowed",
  async (how) => {
    const ask = how === "nobody answers"
      ? undefined
      : how === "the answer is no JSON"
      ? () => Promise.resolve({ toJSON: () => "{", allowed: false, status: 503, reason: "", cause: "error" } as Answer)
      : () => Promise.reject(new Error("broken"));
    const proxy = await startProxy(ask, "");
    onTestFinished(() => proxy.stop());
    expect((await tunnel(proxy, "pypi.example:443")).status).toBeGreaterThanOrEqual(500);
    expect((await getPlain(proxy, "http://pypi.example/")).status).toBeGreaterThanOrEqual(500);
  },
);

test("a sandbox is looked up once for each connection", async () => {
  const { proxy, questions } = stage;
  await get(proxy, "api.example", proxy.ca);
  expect(questions.map(({ sandbox, encrypted }) => [sandbox?.name, encrypted])).toEqual([[undefined, false], [
    "box",
    true,
  ]]);
});
