import { createServer } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { freePorts } from "../../../dev/cluster/ports.ts";
import { dial, fetchFrom, readUntil } from "../client.ts";
import { startRaw } from "../rawbackend.ts";
import { naming, putReady, startBackend, startRouter } from "../stage.ts";
import { until, untilThere } from "../../eventually.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import type { RouterOptions } from "../../../packages/router/options.ts";
import { listen } from "../../../packages/router/server.ts";

async function start(over: Partial<RouterOptions> = {}) {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, over);
}

/** A sandbox that switches to raw bytes and gives the connection to the test. */
async function startSwitch(onSwitch: (socket: Socket, head: Uint8Array) => void) {
  const seen: string[][] = [];
  const { port, server } = await startBackend((_, answer) => answer.end());
  server.on("upgrade", (request, socket: Socket, head) => {
    seen.push(request.rawHeaders);
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\nX-Own: 1\r\n\r\n");
    onSwitch(socket, head);
  });
  return { port, seen };
}

const asking = (port: number, more = "") =>
  `GET /term?x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\nOrigin: http://evil\r\n` +
  `Authorization: Bearer secret\r\n${
    Object.entries(naming(port)).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }${more}\r\n`;

describe("forwardUpgrade()", () => {
  test("carries WebSocket messages of both kinds, large ones too, and its close code", async () => {
    const { port } = await start();
    const { port: target, server } = await startBackend((_, answer) => answer.end());
    const sockets = new WebSocketServer({ server });
    sockets.on("connection", (socket, request) => {
      socket.send(`hello ${request.url} ${request.headers["sec-websocket-protocol"]}`);
      socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    const client = new WebSocket(`ws://127.0.0.1:${port}/ws?a=b`, ["chat"], { headers: naming(target) });
    const got: { text: string; isBinary: boolean }[] = [];
    client.on("message", (data, isBinary) => got.push({ text: data.toString(), isBinary }));
    await untilThere(1, () => got);
    expect(got[0]?.text).toBe("hello /ws?a=b chat");
    client.send("text");
    client.send(new Uint8Array(1_000_000).fill(65));
    await untilThere(3, () => got);
    expect(got[1]).toEqual({ text: "text", isBinary: false });
    expect(got[2]?.text).toHaveLength(1_000_000);
    expect(got[2]?.isBinary).toBe(true);
    const closed = new Promise((resolve) => client.once("close", (code) => resolve(code)));
    sockets.clients.forEach((socket) => socket.close(4321, "bye"));
    expect(await closed).toBe(4321);
  });

  test("passes a head of an answer of more than 16 KiB", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => {
      const long = `Set-Cookie: long=${"x".repeat(40_000)}\r\n`;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n${long}\r\nhello`);
    });
    const client = await dial(port);
    client.write(asking(raw.port));
    expect(await readUntil(client, "hello")).toMatch(/^HTTP\/1\.1 101 /);
  });

  test("passes what either side sends at once, each way in its own time", async () => {
    const { port } = await start();
    const { port: target, seen } = await startSwitch((socket, head) => {
      socket.write("first of the sandbox;");
      let text = head.toString();
      socket.on("data", (chunk) => text += chunk);
      // The client has ended its way; this one goes on.
      socket.once("end", () => setTimeout(() => socket.end(`you said ${text}`), 30));
    });
    const socket = await dial(port, true);
    socket.write(`${asking(target)}early `);
    const head = await readUntil(socket, "sandbox;");
    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(head).toContain("\r\nX-Own: 1\r\n");
    expect(head).toMatch(/\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nfirst of the sandbox;$/);
    socket.end("late");
    expect(await readUntil(socket, "late")).toBe("you said early late");
    expect(seen.flat().join("\n")).not.toMatch(/secret|evil/);
  });

  test("half-close the other way: the sandbox ends, the client goes on", async () => {
    const { port } = await start();
    let text = "";
    let ended = false;
    const { port: target } = await startSwitch((socket) => {
      socket.end("all I have");
      socket.on("data", (chunk) => text += chunk);
      socket.once("end", () => ended = true);
    });
    const socket = await dial(port, true);
    socket.write(asking(target));
    await readUntil(socket, "all I have");
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.write("more");
    await until(() => text === "more");
    socket.end();
    await until(() => ended);
  });

  test("an end that comes with the request, before there is another side, reaches it", async () => {
    const { port } = await start();
    let ended = false;
    const { port: target } = await startSwitch((socket) => socket.resume().once("end", () => ended = true));
    const socket = await dial(port, true);
    socket.end(asking(target));
    await until(() => ended);
  });

  test("ends the other side where one breaks off", async () => {
    const { port } = await start();
    const backends: Socket[] = [];
    const { port: target } = await startSwitch((socket) => backends.push(socket));
    const closed: string[] = [];
    const clients = [await dial(port), await dial(port)];
    for (const client of clients) {
      client.write(asking(target));
      await readUntil(client, "raw\r\n\r\n");
      client.once("close", () => closed.push("client")).resume();
    }
    backends.forEach((backend) => backend.once("close", () => closed.push("backend")).resume());
    clients[0]?.resetAndDestroy();
    backends[1]?.resetAndDestroy();
    await untilThere(4, () => closed);
    expect(closed.toSorted()).toEqual(["backend", "backend", "client", "client"]);
  });

  test("a stop ends both sides once its time is over", async () => {
    const { router } = await start();
    const server = await listen(router.handler, { host: "127.0.0.1", port: 0, graceMs: 50, h2c: false });
    let ended = false;
    const { port: target } = await startSwitch((backend) => backend.resume().once("close", () => ended = true));
    const client = await dial(server.port);
    client.write(asking(target));
    await readUntil(client, "raw\r\n\r\n");
    client.resume();
    await server.stop();
    await until(() => ended && client.destroyed);
  });

  test("passes an answer that declines, and nothing that the client sent after its request", async () => {
    const { port } = await start();
    let requests = 0;
    const backend = await startBackend((_, answer) => {
      requests++;
      answer.writeHead(403, { "X-Why": "no" });
      answer.write("not ");
      answer.end("today");
    });
    const socket = await dial(port);
    socket.write(`${asking(backend.port)}GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const text = await readUntil(socket, "today");
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n\r\nnot today$/);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(requests).toBe(1);
  });

  test.for([
    ["a body", "Content-Length: 3\r\n", "400"],
    ["a chunked body", "Transfer-Encoding: chunked\r\n", "400"],
    ["another protocol than asked for", "X-Fine: 1\r\n", "502"],
  ])("refuses %s", async ([what, header, status]) => {
    const { port } = await start();
    const { port: target, seen } = await startSwitch(() => {});
    const socket = await dial(port);
    const bytes = asking(target, header);
    socket.write(what?.startsWith("another") ? bytes.replace("Upgrade: raw", "Upgrade: websocket") : bytes);
    expect(await readUntil(socket, "}")).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\\{"detail":".*"\\}$`, "s"));
    expect(seen).toHaveLength(what?.startsWith("another") ? 1 : 0);
  });

  test("says in JSON what cannot be reached", async () => {
    const { port } = await start({ upstreamMaxRetries: 0 });
    const [target = 0] = await freePorts(1);
    for (const [name, status] of [["demo", 502], ["nobody", 404]] as const) {
      const socket = await dial(port);
      socket.write(asking(target).replace("demo", name));
      expect(await readUntil(socket, "}")).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\\{"detail":".*"\\}$`, "s"));
    }
  });

  test("answers a request for HTTP/2 by upgrade as the HTTP/1.1 that it is", async () => {
    const { port } = await start();
    const backend = await startBackend((request, answer) => answer.end(String(request.headers.upgrade)));
    const headers = {
      ...naming(backend.port),
      Connection: "Upgrade, HTTP2-Settings",
      Upgrade: "h2c",
      "HTTP2-Settings": "",
    };
    expect(await fetchFrom(port, { headers })).toMatchObject({ status: 200, text: "undefined" });
  });

  test("connects again where nothing listened yet", async () => {
    const { port } = await start({
      upstreamMaxRetries: 1000,
      upstreamRetryInitialDelay: 10,
      upstreamRetryMaxDelay: 10,
    });
    const [target = 0] = await freePorts(1);
    const socket = await dial(port);
    socket.write(asking(target));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const late = createServer().on("upgrade", (_, raw: Socket) => {
      raw.on("error", () => {});
      raw.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nlate");
    });
    await new Promise<void>((resolve) => late.listen(target, "127.0.0.1", resolve));
    onTestFinished(() => void late.close());
    expect(await readUntil(socket, "late")).toContain("101");
    socket.end();
  });
});
