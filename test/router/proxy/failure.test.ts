import { spawn } from "node:child_process";
import { once } from "node:events";
import { request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";
import type { RouterOptions } from "../../../packages/router/options.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, exchange, fetchFrom, open, readUntil } from "../client.ts";
import { headOf, OK, startRaw } from "../rawbackend.ts";
import { naming, putPod, putReady, startBackend, startRouter } from "../stage.ts";
import { until, untilThere } from "../../eventually.ts";

async function start(over: Partial<RouterOptions> = {}) {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, over);
}

describe("dialling", () => {
  test("says that nothing listens, after as many tries as are allowed", async () => {
    const { port } = await start({ upstreamMaxRetries: 2 });
    const [free = 0] = await freePorts(1);
    expect(await fetchFrom(port, { headers: naming(free), method: "POST" }, "x")).toMatchObject({
      status: 502,
      text: '{"detail":"Could not connect to the backend sandbox: demo: nothing listens on the port"}',
      headers: { "x-sandbox-reason": "NotSent" },
    });
  });

  test("tries again until the sandbox listens, with the whole body", async () => {
    const { port, api } = await start({
      upstreamMaxRetries: 1000,
      upstreamRetryInitialDelay: 10,
      upstreamRetryMaxDelay: 10,
    });
    const [free = 0] = await freePorts(1);
    const reply = fetchFrom(port, { headers: naming(free), method: "POST" }, "the whole body");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const raw = await startRaw((socket) => setTimeout(() => socket.end(OK), 20), free);
    expect(await reply).toMatchObject({ status: 200, text: "ok" });
    expect(raw.text).toContain("the whole body");
    expect(raw.requests).toBe(1);
    expect(api.requests.length).toBeGreaterThan(0);
  });

  test("never sends a POST twice", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.destroy());
    const reply = await fetchFrom(port, { headers: naming(raw.port), method: "POST" }, "x");
    expect(reply).toMatchObject({
      status: 502,
      text: expect.stringContaining("closed the connection before it answered"),
    });
    expect(reply.headers, "it was sent").not.toHaveProperty("x-sandbox-reason");
    expect(raw.requests).toBe(1);
  });

  test("asks again where a kept connection had gone, but only what has no body", async () => {
    const { port } = await start();
    const raw = await startRaw((socket, count) => count % 2 === 1 ? socket.write(OK) : socket.destroy());
    const ask = (method: string, body?: string) => fetchFrom(port, { headers: naming(raw.port), method }, body);
    expect(await ask("GET")).toMatchObject({ status: 200 });
    expect(await ask("GET"), "the second request on the connection").toMatchObject({ status: 200 });
    expect(raw).toMatchObject({ requests: 3, connections: 2 });
    expect(await ask("POST", "x")).toMatchObject({ status: 502 });
    expect(raw.requests).toBe(4);
    expect(await ask("GET")).toMatchObject({ status: 200 });
    const chunked = { ...naming(raw.port), "Transfer-Encoding": "chunked" };
    expect(await fetchFrom(port, { headers: chunked }, "a GET with a body")).toMatchObject({ status: 502 });
    expect(raw.requests).toBe(6);
  });

  test("keeps connections", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => socket.write(OK));
    for (let i = 0; i < 5; i++) {
      expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({ status: 200 });
    }
    expect(raw).toMatchObject({ requests: 5, connections: 1 });
  });
});

describe("an end in the middle", () => {
  test("of the answer reaches the client as one", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
      setTimeout(() => socket.destroy(), 10);
    });
    await expect(fetchFrom(port, { headers: naming(raw.port) })).rejects.toThrow(/aborted|hang up|terminated/);
  });

  test("of the client reaches the sandbox, before its answer and within", async () => {
    const { port } = await start();
    const closed: string[] = [];
    let isThere = false;
    const backend = await startBackend((incoming, answer) => {
      isThere = true;
      incoming.socket.once("close", () => closed.push(incoming.url ?? ""));
      if (incoming.url === "/within") answer.write("x");
    });
    const before = request({ host: "127.0.0.1", port, path: "/before", headers: naming(backend.port), agent: false });
    before.on("error", () => {}).end();
    await until(() => isThere);
    before.destroy();
    const within = await open(port, { path: "/within", headers: naming(backend.port) });
    within.on("error", () => {}).destroy();
    await untilThere(2, () => closed);
    expect(closed.toSorted()).toEqual(["/before", "/within"]);
  });

  test("of an upload, by its client, is no end of the body for the sandbox", async () => {
    const { port } = await start();
    const seen: string[] = [];
    const backend = await startBackend((incoming) => {
      incoming.on("data", (chunk) => seen.push(String(chunk)));
      incoming.once("end", () => seen.push("end")).once("aborted", () => seen.push("aborted"));
    });
    for (const framing of ["Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n", "Content-Length: 100\r\n\r\npart"]) {
      const socket = await dial(port);
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${headOf(backend.port)}${framing}`);
      await until(() => seen.includes("part"));
      socket.resetAndDestroy();
      await until(() => seen.length > 1);
      expect(seen.splice(0)).toEqual(["part", "aborted"]);
    }
    expect(await fetchFrom(port, { path: "/healthz" })).toMatchObject({ status: 200 });
  });

  test("of an upload, by an early answer, leaves the answer whole", async () => {
    const { port } = await start();
    const backend = await startBackend((_, answer) => answer.writeHead(413).end("too much"));
    const outgoing = request({ host: "127.0.0.1", port, method: "POST", headers: naming(backend.port), agent: false });
    outgoing.on("error", () => {}).write("first part");
    const answer = await new Promise<{ statusCode?: number }>((resolve) => outgoing.once("response", resolve));
    expect(answer.statusCode).toBe(413);
    outgoing.end("last part");
  });
});

describe("patience", () => {
  test("ends with 504 where no answer begins", async () => {
    const { port } = await start({ responseHeaderTimeout: 50 });
    const raw = await startRaw(() => {});
    expect(await fetchFrom(port, { headers: naming(raw.port) })).toMatchObject({
      status: 504,
      text: '{"detail":"Timed out waiting for the backend sandbox: demo: no answer within 0.05 s"}',
    });
  });

  test("ends where a body stands still, but never for an event stream", async () => {
    const { port } = await start({ responseHeaderTimeout: 1000, proxyTimeout: 50 });
    const still = (type: string) => (_: unknown, answer: ServerResponse) => {
      answer.writeHead(200, { "Content-Type": type });
      answer.write("x");
      setTimeout(() => answer.end("y"), 1500);
    };
    const plain = await startBackend(still("text/plain"));
    const events = await startBackend(still("text/event-stream"));
    await expect(fetchFrom(port, { headers: naming(plain.port) })).rejects.toThrow();
    expect(await fetchFrom(port, { headers: naming(events.port) })).toMatchObject({ text: "xy" });
  });

  test("lets a slow client hold the sandbox back instead of filling memory", async () => {
    const { port } = await start();
    let sent = 0;
    const backend = await startBackend((_, answer) => {
      const more = () => {
        while (sent < 200_000_000 && answer.write(new Uint8Array(100_000))) sent += 100_000;
        if (sent >= 200_000_000) answer.end();
      };
      answer.on("drain", more);
      more();
    });
    const answer = await open(port, { headers: naming(backend.port) });
    answer.pause();
    let before = -1;
    while (sent !== before) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    expect(sent).toBeLessThan(50_000_000);
    answer.destroy();
  });
});

describe("limits and signs", () => {
  test("refuses a longer body than allowed, announced or not", async () => {
    const { port } = await start({ maxRequestBodyBytes: 10 });
    const backend = await startBackend((incoming, answer) => void incoming.pipe(answer));
    const headers = naming(backend.port);
    const send = (more: object, body: string) =>
      fetchFrom(port, { method: "POST", headers: { ...headers, ...more } }, body);
    expect(await send({}, "0123456789")).toMatchObject({ status: 200 });
    expect(await send({}, "0123456789a")).toMatchObject({ status: 413 });
    expect(await send({ "Transfer-Encoding": "chunked" }, "0123456789a")).toMatchObject({ status: 413 });
  });

  test("tells a client that waits to go on, but only once there is somebody to listen", async () => {
    const { port } = await start();
    const raw = await startRaw((socket) => setTimeout(() => socket.end(OK), 50));
    const ask = async (name: string, target: number) => {
      const socket = await dial(port);
      const head = headOf(target).replace("demo", name);
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n${head}\r\n`);
      return { socket, text: await readUntil(socket, "\r\n\r\n") };
    };
    const refused = await ask("nobody", raw.port);
    expect(refused.text).toMatch(/^HTTP\/1\.1 404 .*\r\nConnection: close\r\n/s);
    const { socket, text } = await ask("demo", raw.port);
    expect(text).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("body");
    expect(await readUntil(socket, "ok")).toContain("200 OK");
    expect(raw.text).toContain("body");
    expect(raw.text).not.toContain("Expect");
  });
});

/** Starts a server that completes no more connections, as if packets to it were dropped. */
async function startDeaf(host: string): Promise<number> {
  const code = `require("net").createServer().listen({port: 0, host: "${host}", backlog: 1}, function () {
    console.log(this.address().port);
  })`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  const port = Number(String(line));
  child.kill("SIGSTOP");
  // Until its queue is full.
  for (let isOpen = true; isOpen;) {
    const socket = connect({ host, port }).on("error", () => {});
    onTestFinished(() => void socket.destroy());
    isOpen = await Promise.race([once(socket, "connect").then(() => true), sleep(300, false)]);
  }
  return port;
}

describe("a sandbox to which packets get lost", () => {
  test("is not dialled again at the same address, and the answer says what may be the cause", async () => {
    const port = await startDeaf("127.0.0.1");
    const { port: router, router: { metrics } } = await start({ dialTimeout: 200, upstreamMaxRetries: 1000 });
    const { status, headers, text } = await fetchFrom(router, { headers: naming(port), method: "POST" }, "x");
    expect({ status, reason: headers["x-sandbox-reason"], ...JSON.parse(text) }).toEqual({
      status: 502,
      reason: "NotSent",
      detail: "Could not connect to the backend sandbox: demo: no connection within 0.2 s",
      remedy: expect.stringContaining("NetworkPolicy may keep the router out"),
    });
    expect(await metrics.text()).toMatch(/^sandbox_router_upstream_errors_total{.*reason="dial".*} 1$/m);
    const head = `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: raw\r\n${headOf(port)}\r\n`;
    expect(await exchange(router, head), "an upgrade").toMatch(/^HTTP\/1.1 502 /);
  });

  test("is dialled at its new address if it has moved", async () => {
    const port = await startDeaf("127.0.0.2");
    await startRaw((socket) => socket.end(OK), port);
    const { port: router, api } = await start({ dialTimeout: 500 });
    putPod(api, "demo", { status: { podIPs: [{ ip: "127.0.0.2" }] } });
    await sleep(50);
    const reply = fetchFrom(router, { headers: naming(port), method: "POST" }, "x");
    await sleep(100);
    putPod(api);
    expect(await reply).toMatchObject({ status: 200, text: "ok" });
  });
});
