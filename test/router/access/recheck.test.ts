/** Long requests and streams: they end with their token, and when their client loses the right to connect. */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EventEmitter, once } from "node:events";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import { createRecheck } from "../../../packages/router/access/recheck.ts";
import { until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { createFakeApi, type FakeApi } from "../../kube/fakeapi.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { dial, fetchFrom, open, openSession, readUntil } from "../client.ts";
import { headOf, startRaw } from "../rawbackend.ts";
import { naming, putReady, putSandbox, startBackend, startRouter } from "../stage.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const RECHECK_MS = 30;

/** A router that asks the API server who may; `mayConnect` and `isUp` say what that answers from now on. */
async function start() {
  const api = createFakeApi();
  putReady(api);
  const says = { mayConnect: true, isUp: true };
  api.intercept = ({ path }: ApiRequest) => {
    if (!path.endsWith("reviews")) return undefined;
    if (!says.isUp) return { status: 503, body: {} };
    if (path.endsWith("/tokenreviews")) {
      return { status: 201, body: { status: { authenticated: true, user: { username: "ann" } } } };
    }
    return { status: 201, body: { status: { allowed: says.mayConnect } } };
  };
  const authz = {
    mode: "tokenreview" as const,
    authzTokenreviewTtl: 10,
    authzTokenreviewCacheSize: 10,
    authzTokenreviewAudiences: [],
    authzTokenreviewRequireToken: true,
  };
  return {
    says,
    ...await startRouter(api, { authz, authzRecheckInterval: RECHECK_MS, pathRoutingPrefix: "/s" }, true),
  };
}

const reviewsOf = (api: FakeApi) => api.requests.filter(({ path }) => path.endsWith("reviews")).length;

async function startScoped(authzRecheckInterval = 0) {
  const api = createFakeApi();
  putReady(api);
  putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
  const secretFile = join(makeTempFolder(), "secret");
  writeFileSync(secretFile, SECRET);
  const stage = await startRouter(api, { authz: { mode: "scoped-token", secretFile }, authzRecheckInterval }, true);
  const tokenFor = (seconds: number, name = "demo") =>
    signToken(Buffer.from(SECRET), { ns: "team-a", name, exp: Date.now() / 1000 + seconds });
  return { ...stage, tokenFor };
}

/** A sandbox whose answers begin and never end, and whose other protocol says so. */
async function startEndless() {
  const backend = await startBackend(({ url }, answer) => {
    if (url === "/silent") return;
    const type = url === "/events" ? "text/event-stream" : "application/octet-stream";
    answer.writeHead(200, { "Content-Type": type }).write("open");
  });
  backend.server.on("upgrade", (_, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nopen");
  });
  return backend.port;
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

const closeOf = (stream: EventEmitter) => ({
  closed: new Promise((resolve) => stream.on("error", () => {}).once("close", resolve)),
});

/** Opens a stream of each kind, and returns what resolves when it has been ended. */
const KINDS: Record<string, (port: number, backend: number, token: string) => Promise<{ closed: Promise<unknown> }>> = {
  "a download": async (port, backend, token) => {
    const answer = await open(port, { path: "/file", headers: { ...naming(backend), ...bearer(token) } });
    return closeOf(answer.resume());
  },
  "an event stream": async (port, backend, token) => {
    const answer = await open(port, { path: "/events", headers: { ...naming(backend), ...bearer(token) } });
    return closeOf(answer.resume());
  },
  "a WebSocket": async (port, backend, token) => {
    const socket = await dial(port);
    const head = `${headOf(backend)}Authorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: x\r\n`;
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${head}\r\n`);
    expect(await readUntil(socket, "open")).toContain("101 Switching Protocols");
    return closeOf(socket.resume());
  },
  "an upload": async (port, backend, token) => {
    const socket = await dial(port);
    const head = `${headOf(backend)}Authorization: Bearer ${token}\r\nContent-Length: 99\r\n`;
    socket.write(`POST /file HTTP/1.1\r\nHost: localhost\r\n${head}\r\npart`);
    expect(await readUntil(socket, "open")).toContain("200 OK");
    return closeOf(socket.resume());
  },
  "a stream of HTTP/2": async (port, backend, token) => {
    const stream = openSession(`http://127.0.0.1:${port}`).request({ ...naming(backend), ...bearer(token) });
    stream.on("error", () => {});
    await once(stream, "data");
    return closeOf(stream.resume());
  },
};

describe("a stream", () => {
  test.for(Object.keys(KINDS))("%s ends with its token", async (kind) => {
    const { port, router, tokenFor } = await startScoped();
    const backend = await startEndless();
    const pass = holdTimers();
    const stream = await KINDS[kind]?.(port, backend, await tokenFor(60));
    pass(60_000);
    await stream?.closed;
    await until(() => router.metrics.now.inflight === 0);
  });

  test.for(Object.keys(KINDS))("%s ends once its client may not connect any more", async (kind) => {
    const { port, router, says } = await start();
    const stream = await KINDS[kind]?.(port, await startEndless(), "ann");
    says.mayConnect = false;
    await stream?.closed;
    await until(() => router.metrics.now.inflight === 0);
  });

  test("goes on while the API server does not answer, and when it does again", async () => {
    const { port, says, api } = await start();
    const backend = await startEndless();
    const answer = await open(port, { path: "/file", headers: { ...naming(backend), ...bearer("ann") } });
    let isOver = false;
    answer.resume().on("error", () => {}).once("close", () => isOver = true);
    says.isUp = false;
    const before = reviewsOf(api);
    await until(() => reviewsOf(api) >= before + 3);
    says.isUp = true;
    const then = reviewsOf(api);
    await until(() => reviewsOf(api) >= then + 4);
    expect(isOver).toBe(false);
    answer.destroy();
  });

  test("ends with what a token of Kubernetes says of its end, though the API server still knew it a moment ago", async () => {
    const { port, router, api } = await start();
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const token = `x.${Buffer.from(JSON.stringify({ sub: "ann", exp })).toString("base64url")}.y`;
    const stream = await KINDS["a WebSocket"]?.(port, await startEndless(), token);
    const reviews = reviewsOf(api);
    await until(() => reviewsOf(api) > reviews);
    expect(router.metrics.now.inflight).toBe(1);
    vi.useFakeTimers({ toFake: ["Date"], now: exp * 1000 - 1 });
    onTestFinished(() => void vi.useRealTimers());
    await stream?.closed;
    await until(() => router.metrics.now.inflight === 0);
  });

  test("that has not begun is refused: its sandbox sleeps, or does not answer", async () => {
    const { port, tokenFor } = await startScoped();
    const backend = await startEndless();
    const ask = async (name: string) => {
      const headers = { ...naming(backend, name), ...bearer(await tokenFor(1, name)) };
      return await fetchFrom(port, { path: "/silent", headers });
    };
    const want = { status: 401, text: '{"detail":"The token has expired."}' };
    expect(await Promise.all([ask("demo"), ask("asleep")])).toMatchObject([want, want]);
  });

  test("without a token, where none is needed, goes on", async () => {
    const api = createFakeApi();
    putReady(api);
    const { port } = await startRouter(api, { authzRecheckInterval: 10 });
    const answer = await open(port, { headers: naming(await startEndless()) });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answer.destroyed).toBe(false);
    answer.on("error", () => {}).destroy();
  });

  test("hears nothing of a sandbox that answers at the same moment", async () => {
    const { port, tokenFor } = await startScoped();
    const raw = await startRaw(() => {});
    const ended = await dial(port);
    ended.write(
      `GET / HTTP/1.1\r\nHost: localhost\r\n${headOf(raw.port)}Authorization: Bearer ${await tokenFor(0.5)}\r\n\r\n`,
    );
    expect(await readUntil(ended, "}")).toMatch(/^HTTP\/1\.1 401 .*The token has expired/s);
  });
});

describe("createRecheck()", () => {
  test("ends what nobody answers for after ten looks, and nothing that has closed", async () => {
    const recheck = createRecheck(1);
    const ended: number[] = [];
    let asked = 0;
    let close = () => {};
    const client = { once: (_: string, listener: () => void) => close = listener };
    const check = () => (asked++, Promise.reject(new Error("unreachable")));
    recheck({ stream: client as never, expires: undefined, check, end: ({ status }) => ended.push(status) });
    await until(() => ended.length > 0);
    expect([asked, ended]).toEqual([10, [500]]);
    recheck({ stream: client as never, expires: Date.now() / 1000 + 0.01, check, end: () => ended.push(0) });
    close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ended).toEqual([500]);
  });
});
