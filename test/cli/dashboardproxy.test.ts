/** The proxy of `hookbox dashboard`: whom it lets in, and what it passes on to a router. @module */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { MULTIPLEX_PATH, MULTIPLEX_PROTOCOL } from "../../packages/api/router/multiplex.ts";
import { type SignInProxyOptions, startSignInProxy } from "../../packages/cli/dashboard/proxy.ts";
import { createConnection } from "../../packages/dashboard/connection.ts";
import { listenOn } from "../../packages/process/connections.ts";
import { fetchFrom, type Reply } from "../router/client.ts";
import { SANDBOXES, start as startRouter } from "../router/dashboard/stage.ts";

const API = `/.hookbox/api${SANDBOXES}`;

/** The dashboard of a real router, with a proxy in front. */
async function start(options: Partial<SignInProxyOptions> = {}, routerOptions: Parameters<typeof startRouter>[0] = {}) {
  const { port: routerPort, asked } = await startRouter(routerOptions);
  const failures: string[] = [];
  const proxy = await startSignInProxy({
    port: 0,
    router: () => Promise.resolve(`http://127.0.0.1:${routerPort}`),
    token: () => Promise.resolve("ada-1"),
    fetch,
    onFailure: (reason) => failures.push(reason),
    ...options,
  });
  onTestFinished(() => proxy.close());
  const url = new URL(proxy.url);
  const port = Number(url.port);
  let prefix = "";
  const askOutside = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Reply> =>
    fetchFrom(port, { path, method, headers: { Host: `127.0.0.1:${port}`, ...headers } });
  const ask = (path: string, ...more: [Record<string, string>?, string?]) => askOutside(prefix + path, ...more);
  /** Opens the URL. */
  const open = async (...more: [Record<string, string>?, string?]) => {
    const answer = await askOutside(url.pathname + url.search, ...more);
    prefix = /replace\("(.*)\/\.hookbox\/"/.exec(answer.text)?.[1] ?? prefix;
    return answer;
  };
  return { proxy, ask, askOutside, open, asked, failures, port, url, prefix: () => prefix };
}

/** Opens the URL as a browser does. @returns what the browser has from then on */
async function signedIn(stage: Awaited<ReturnType<typeof start>>): Promise<{ Cookie: string }> {
  const { headers } = await stage.open();
  return { Cookie: headers["set-cookie"]?.[0]?.replace(/;.*/, "") ?? "" };
}

test("the URL gives its browser a cookie that no page can read, and leads to the page", async () => {
  const stage = await start();
  const first = await stage.open();
  expect(first).toMatchObject({
    status: 200,
    headers: { "cache-control": "no-store", "referrer-policy": "no-referrer" },
  });
  const [, script = ""] = /<script>(.*)<\/script>/.exec(first.text) ?? [];
  expect(script).toBe(`location.replace("${stage.prefix()}/.hookbox/" + location.hash)`);
  expect(first.headers["content-security-policy"]).toBe(
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
      `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  const [cookie = ""] = first.headers["set-cookie"] ?? [];
  expect(stage.prefix()).toMatch(/^\/[\w-]{43}$/);
  const attributes = `; Path=${stage.prefix()}/; HttpOnly; SameSite=Strict`;
  expect(cookie).toMatch(/^hookbox-dashboard=[\w-]{43}; /);
  expect(cookie.slice(cookie.indexOf(";"))).toBe(attributes);
  expect(stage.url.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?key=[\w-]{43}$/);
  // Another user who reads the URL in the list of processes learns neither of them.
  expect(stage.url.href).not.toContain(stage.prefix());
  expect(stage.url.href).not.toContain(cookie.slice("hookbox-dashboard=".length, cookie.indexOf(";")));
  const Cookie = cookie.replace(/;.*/, "");
  const answer = await stage.ask(API, { Cookie });
  expect(answer).toMatchObject({ status: 200, text: '{"items":[]}' });
  expect(stage.asked).toMatchObject([{ method: "GET", path: SANDBOXES, token: "ada-1" }]);
});

test("the URL gives a cookie once, and leads on again, also from a link of another site", async () => {
  const link = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  const stage = await start();
  const first = await stage.open(link);
  expect(first.headers["set-cookie"]).toHaveLength(1);
  for (const headers of [{}, link]) {
    const again = await stage.open(headers);
    expect(again).toMatchObject({ status: 200, text: first.text });
    expect(again.headers["set-cookie"]).toBeUndefined();
  }
  expect(await stage.ask("/.hookbox/")).toMatchObject({
    status: 403,
    text: expect.stringMatching(/Only the browser that opened the URL first.*Run hookbox dashboard again/),
  });
});

test("another user of the machine who has read the URL gets no cookie, and does not use it up", async () => {
  let isOwn = false;
  const isOwnConnection = vi.fn(() => Promise.resolve(isOwn));
  const stage = await start({ isOwnConnection });
  const refused = await stage.open();
  expect(refused).toMatchObject({ status: 403, text: expect.stringMatching(/another user.*as the user who runs/) });
  expect(refused.headers["set-cookie"]).toBeUndefined();
  expect(stage.prefix()).toBe("");
  expect(isOwnConnection).toHaveBeenCalledWith({ localPort: stage.port, remotePort: expect.any(Number) });
  isOwn = true;
  expect((await stage.open()).headers["set-cookie"]).toHaveLength(1);
});

test("a key that was wrong, or came from another page, does not use up the URL", async () => {
  const stage = await start();
  expect(await stage.askOutside("/?key=wrong")).toMatchObject({ status: 403 });
  expect(await stage.open({ Origin: "http://evil.example" })).toMatchObject({ status: 403 });
  expect(await stage.open({}, "HEAD")).toMatchObject({ status: 403 });
  expect(await stage.open()).toMatchObject({ status: 200 });
});

test("a page on another port of this machine can neither use the cookie nor replace it", async () => {
  const stage = await start();
  const { Cookie } = await signedIn(stage);
  const wrong = `hookbox-dashboard=${"a".repeat(43)}`;
  expect(await stage.ask(API, { Cookie: `${wrong}; ${Cookie}` })).toMatchObject({ status: 200 });
  expect(await stage.ask(API, { Cookie: `${Cookie}; ${wrong}` })).toMatchObject({ status: 200 });
  const other = await start();
  await other.open();
  expect(other.prefix()).not.toBe(stage.prefix());
  for (const path of [API, "/", "/.hookbox/", "/?key=wrong", `${other.prefix()}${API}`, `/${"a".repeat(43)}${API}`]) {
    expect(await stage.askOutside(path, { Cookie })).toMatchObject({ status: 403 });
  }
  expect(stage.asked).toHaveLength(2);
});

const REFUSED: { name: string; headers?: Record<string, string>; path?: string; says: RegExp; status?: number }[] = [
  { name: "without the cookie", headers: { Cookie: "" }, says: /Only the browser.*again/ },
  {
    name: "with another cookie",
    headers: { Cookie: `hookbox-dashboard=${"a".repeat(43)}` },
    says: /Only the browser/,
  },
  { name: "for another host", headers: { Host: "evil.example" }, says: /not at evil\.example/ },
  { name: "for another port", headers: { Host: "127.0.0.1:1" }, says: /not at 127\.0\.0\.1:1/ },
  { name: "of another origin", headers: { Origin: "http://evil.example" }, says: /another origin/ },
  { name: "of a page on another port", headers: { Origin: "http://127.0.0.1:1" }, says: /another origin/ },
  { name: "of a sandboxed page", headers: { Origin: "null" }, says: /another origin/ },
  { name: "of an image in another page", headers: { "Sec-Fetch-Site": "same-site" }, says: /another origin/ },
  { name: "for a sandbox", path: "/s/team-a/demo/8080/", says: /Only \/\.hookbox\//, status: 404 },
  { name: "for a path that leads out of all", path: "/.hookbox/../../healthz", says: /Only the browser/ },
  { name: "for a path that leads out", path: "/.hookbox/../healthz", says: /Only \/\.hookbox\//, status: 404 },
  { name: "for an encoded path that leads out", path: "/.hookbox/%2e%2e/x", says: /Only \/\.hookbox\//, status: 404 },
];

test.for(REFUSED)(
  "a request $name is refused, and so is a WebSocket",
  async ({ headers, path, says, status = 403 }) => {
    const stage = await start();
    const cookie = await signedIn(stage);
    const answer = await stage.ask(path ?? API, { ...cookie, ...headers });
    expect(answer).toMatchObject({
      status,
      text: expect.stringMatching(says),
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
    const Host = `127.0.0.1:${stage.port}`;
    const own = { Host, ...headers?.["Sec-Fetch-Site"] ? {} : { Origin: `http://${Host}` } };
    expect(await upgraded(stage.port, stage.prefix() + (path ?? MULTIPLEX_PATH), { ...own, ...cookie, ...headers }))
      .toBe(
        status,
      );
    expect(stage.asked).toEqual([]);
  },
);

/** @returns the status of the answer, 101: the WebSocket was opened */
function upgraded(port: number, path: string, headers: Record<string, string>): Promise<number | undefined> {
  // URL would resolve the path.
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, MULTIPLEX_PROTOCOL, {
    headers,
    finishRequest: (request) => void (request.path = path, request.end()),
  });
  onTestFinished(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(101)).on("error", reject);
    socket.once("unexpected-response", (_, answer) => resolve(answer.statusCode));
  });
}

test("the page's WebSocket carries its requests, with the token of the time when it was opened", async () => {
  let token = "ada-1";
  const stage = await start({ token: () => Promise.resolve(token) });
  const { Cookie } = await signedIn(stage);
  const origin = `http://127.0.0.1:${stage.port}`;
  class BrowserSocket extends WebSocket {
    constructor(url: URL, protocol: string) {
      super(url, protocol, { headers: { Origin: origin, Cookie } });
    }
  }
  const page = createConnection({
    page: `${origin}${stage.prefix()}/.hookbox/`,
    WebSocket: BrowserSocket as unknown as typeof globalThis.WebSocket,
    fetch: () => Promise.reject(new TypeError("no fetch")),
  });
  onTestFinished(() => page.close());
  expect(await (await page.fetch(`${origin}${stage.prefix()}${API}`)).json()).toEqual({ items: [] });
  token = "ada-2";
  page.close();
  expect(await (await page.fetch(`${origin}${stage.prefix()}${API}`)).json()).toEqual({ items: [] });
  expect(stage.asked.map(({ token }) => token)).toEqual(["ada-1", "ada-2"]);
});

/** A program in the router's place; `seen` grows with the requests that reach it. */
async function startBackend(port = 0) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    response.writeHead(200, { "Set-Cookie": "a=b" }).end("from the router");
  });
  server.on("upgrade", (request, socket) => {
    seen.push(request);
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  });
  const listening = await listenOn(server, "127.0.0.1", port);
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  return { seen, port: listening, server };
}

test("the router gets the token and its own address, and nothing that signs the browser in", async () => {
  const { seen, port } = await startBackend();
  const stage = await start({ router: () => Promise.resolve(`http://localhost:${port}/below`) });
  const { Cookie } = await signedIn(stage);
  const own = `http://127.0.0.1:${stage.port}`;
  const sent = {
    "Cookie": `${Cookie}; other=1`,
    "Authorization": "Bearer of-the-browser",
    "Origin": own,
    "Referer": `${own}${stage.prefix()}/.hookbox/?key=secret`,
    "X-Sandbox-ID": "demo",
  };
  const answer = await stage.ask("/.hookbox/x?y=1", sent);
  expect(answer).toMatchObject({ status: 200, text: "from the router" });
  expect(answer.headers["set-cookie"]).toBeUndefined();
  await upgraded(stage.port, stage.prefix() + MULTIPLEX_PATH, { Host: `127.0.0.1:${stage.port}`, ...sent }).catch(
    () => {},
  );
  expect(seen.map(({ url }) => url)).toEqual(["/below/.hookbox/x?y=1", `/below${MULTIPLEX_PATH}`]);
  for (const { headers } of seen) {
    expect(headers).toMatchObject({
      host: `localhost:${port}`,
      origin: `http://localhost:${port}`,
      authorization: "Bearer ada-1",
    });
    expect(headers).not.toHaveProperty("cookie");
    expect(headers).not.toHaveProperty("referer");
    expect(headers).not.toHaveProperty("x-sandbox-id");
  }
});

test("the page learns that it is signed in, and of no domain that does not lead through the proxy", async () => {
  const stage = await start({}, {
    domain: "sandboxes.example",
    settings: { clusterName: "c", tokenStorage: "memory" },
  });
  const { text, headers } = await stage.ask("/.hookbox/settings.json", await signedIn(stage));
  expect(JSON.parse(text)).toEqual({ clusterName: "c", tokenStorage: "memory", isSignedIn: true });
  expect(headers["content-type"]).toBe("application/json");
});

test("a router that cannot be reached, and a token that cannot be had, are reported", async () => {
  const { port, server } = await startBackend();
  let token = () => Promise.resolve("ada-1");
  const stage = await start({ router: () => Promise.resolve(`http://127.0.0.1:${port}`), token: () => token() });
  const cookie = await signedIn(stage);
  token = () => Promise.reject(new Error("Cannot renew the login: it has ended"));
  const socket = { Host: `127.0.0.1:${stage.port}`, Origin: `http://127.0.0.1:${stage.port}`, ...cookie };
  expect(await stage.ask("/.hookbox/", cookie)).toMatchObject({
    status: 502,
    text: expect.stringMatching(/^Cannot renew the login: it has ended$/),
  });
  expect(await upgraded(stage.port, stage.prefix() + MULTIPLEX_PATH, socket)).toBe(502);
  token = () => Promise.resolve("ada-1");
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await stage.ask("/.hookbox/", cookie)).toMatchObject({
    status: 502,
    text: expect.stringMatching(/Cannot reach the router: .*ECONNREFUSED/),
  });
  expect(stage.failures).toHaveLength(3);
});
