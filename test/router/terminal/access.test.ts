/** Which users get the terminal page, and whose pages open terminals. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import type { RouterOptions } from "../../../packages/router/options.ts";
import { isForeign } from "../../../packages/runtime/http/guard.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { fetchFrom } from "../client.ts";
import { putReady, startBackend, startRouter } from "../stage.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const browser: RouterOptions["browser"] = {
  authzCookieName: "pass",
  authzCookieQueryParam: "t",
  authzCookieSamesite: "Lax",
  authzCookieInsecure: false,
  authzCookieAllowedOrigins: ["https://console.example"],
};
const token = await signToken(Buffer.from(SECRET), {
  ns: "team-a",
  name: "demo",
  exp: Math.floor(Date.now() / 1000) + 600,
});
const FOREIGN = { Origin: "https://evil.example" };

function scoped(): Partial<RouterOptions> {
  const folder = makeTempFolder();
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, SECRET);
  return { authz: { mode: "scoped-token", secretFile } };
}

async function start(over: Partial<RouterOptions>) {
  const api = createFakeApi();
  putReady(api);
  return await startRouter(api, { browser, pathRoutingPrefix: "/s", ...over });
}

/** Plays a runtime without a token: it lets in every client that reaches it, but for foreign pages. */
async function startRuntime(): Promise<number> {
  const { port, server } = await startBackend((_, answer) => answer.end());
  const sockets = new WebSocketServer({
    server: server as Server,
    verifyClient: ({ req }: { req: { headers: Record<string, unknown> } }) =>
      !isForeign((name) => req.headers[name]?.toString()),
  });
  sockets.on("connection", (socket) => socket.close(1000));
  return port;
}

/** Asks for a terminal through a router as a page would; returns the status. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(url, ["hookbox.terminal.v1"], { headers });
  socket.on("error", () => {});
  return await new Promise((resolve) => {
    socket.once("upgrade", () => resolve(101));
    socket.once("unexpected-response", (request, answer) => {
      request.destroy();
      resolve(answer.statusCode ?? 0);
    });
  });
}

describe("the terminal page", () => {
  test("is for those alone whom the gate lets in", async () => {
    const { port } = await start(scoped());
    const path = "/s/team-a/demo/8080/.hookbox/terminal/";
    const ask = (path: string, headers = {}) => fetchFrom(port, { path, headers });
    for (const name of ["", "page.js", "xterm.js", "other"]) {
      expect(await ask(path + name), name).toMatchObject({ status: 401 });
    }
    expect(await ask("/s/team-a/other/8080/.hookbox/terminal/", { Cookie: `pass=${token}` })).toMatchObject({
      status: 403,
    });
    expect(await ask(path, { Cookie: `pass=${token}` })).toMatchObject({ status: 200 });
    expect(await ask(path, { Authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
    const navigation = { Accept: "text/html", "Sec-Fetch-Mode": "navigate" };
    expect(await ask(`${path}?t=${token}&cwd=src`, navigation)).toMatchObject({
      status: 303,
      headers: { location: `${path}?cwd=src` },
    });
  });

  test("lends its files to no page of another origin", async () => {
    const { port } = await start(scoped());
    const headers = { Cookie: `pass=${token}`, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" };
    const reply = await fetchFrom(port, { path: "/s/team-a/demo/8080/.hookbox/terminal/page.js", headers });
    expect(reply).toMatchObject({ status: 403 });
  });
});

describe("a terminal", () => {
  test("is opened by the sandbox's own pages and by programs, where everybody is let in", async () => {
    const { port } = await start({ browser: { ...browser, authzCookieName: undefined } });
    const url = `ws://127.0.0.1:${port}/s/team-a/demo/${await startRuntime()}/v1/terminal`;
    expect(await statusOf(url, {})).toBe(101);
    expect(await statusOf(url, { Origin: `http://127.0.0.1:${port}` })).toBe(101);
    expect(await statusOf(url, { Origin: "https://console.example" }), "its origin is allowed").toBe(101);
    expect(await statusOf(url, { ...FOREIGN, Authorization: "Bearer x" }), "no page sends this").toBe(101);
  });

  test.for<Record<string, string>>([
    FOREIGN,
    { Origin: "null" },
    { ...FOREIGN, Authorization: "Basic x" },
    { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "websocket" },
  ])("is not opened by a page of another origin, where everybody is let in: %o", async (headers) => {
    const { port } = await start({});
    const base = `ws://127.0.0.1:${port}/s/team-a/demo/${await startRuntime()}`;
    // The runtime refuses by Origin; without one the router does.
    const status = "Origin" in headers ? 401 : 403;
    expect(await statusOf(`${base}/v1/terminal`, headers)).toBe(status);
    expect(await statusOf(`${base}/x/../v1/terminal?t=made-up`, headers)).toBe(status);
  });

  test("is not opened by a page of another origin with the cookie of its visitor, but with a token of its own", async () => {
    const { port } = await start(scoped());
    const url = `ws://127.0.0.1:${port}/s/team-a/demo/${await startRuntime()}/v1/terminal`;
    const cookie = { Cookie: `pass=${token}` };
    expect(await statusOf(url, { ...cookie, Origin: `http://127.0.0.1:${port}` })).toBe(101);
    expect(await statusOf(url, { ...cookie, ...FOREIGN })).toBe(403);
    expect(await statusOf(url, FOREIGN)).toBe(401);
    expect(await statusOf(`${url}?t=${token}`, FOREIGN)).toBe(101);
  });
});
