import { writeFileSync } from "node:fs";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import { createClientLimits } from "../../../packages/router/limits.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, fetchFrom, open, readUntil } from "../client.ts";
import { naming, putReady, startBackend, startRouter } from "../stage.ts";
import { until } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const browser = {
  authzCookieName: "pass",
  authzCookieQueryParam: "t",
  authzCookieSamesite: "Lax",
  authzCookieInsecure: false,
  authzCookieAllowedOrigins: ["https://console.example"],
} as const;

interface Seen {
  url: string;
  headers: Record<string, unknown>;
}
let seen: Seen[];
beforeEach(() => {
  seen = [];
});

/** @param queryParam empty: no address carries a token */
async function start(queryParam: string = browser.authzCookieQueryParam) {
  const folder = makeTempFolder();
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, SECRET);
  const api = createFakeApi();
  putReady(api);
  const over = { authz: { mode: "scoped-token", secretFile } as const, pathRoutingPrefix: "/s", domain: "d.example" };
  const { port } = await startRouter(api, {
    ...over,
    browser: { ...browser, authzCookieQueryParam: queryParam || undefined },
  });
  const backend = await startBackend(({ url = "", headers }, answer) => {
    seen.push({ url, headers });
    answer.setHeader("Set-Cookie", [
      ...["pass=stolen", "pass =stolen; Domain=d.example", " pass\t=x", "=pass=x", "pass", "pass;a=b"],
      ...["own=1", "own=pass=1"],
    ]);
    answer.end("in");
  });
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = await signToken(Buffer.from(SECRET), { ns: "team-a", name: "demo", exp });
  return { port, backend: backend.port, token, path: `/s/team-a/demo/${backend.port}` };
}

describe("a scoped token", () => {
  test("opens its sandbox by header, query or cookie, and reaches it in none of them", async () => {
    const { port, backend, token, path } = await start();
    const ask = (url: string, headers: Record<string, string>) => fetchFrom(port, { path: url, headers });
    const replies = [
      await ask("/x", { ...naming(backend), Authorization: `Bearer ${token}` }),
      await ask(`${path}/x?a=1&t=${token}&b=%20`, {}),
      await ask(`${path}/x`, { Cookie: `own=1; pass=${token}; other=2` }),
      await ask("/x", { Host: `${backend}-demo-team-a.d.example`, Cookie: `pass=${token}` }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(seen.map(({ url }) => url)).toEqual(["/x", "/x?a=1&b=%20", "/x", "/x"]);
    expect(seen.map(({ headers }) => headers["cookie"])).toEqual([undefined, undefined, "own=1; other=2", undefined]);
    expect(seen[1]?.headers["x-forwarded-prefix"]).toBe(path);
    expect(JSON.stringify(seen)).not.toContain(token);
    expect(replies[0]?.headers["set-cookie"], "no sandbox sets the router's cookie").toEqual(["own=1", "own=pass=1"]);
  });

  test("opens no other, and nothing opens without", async () => {
    const { port, backend, token } = await start();
    const headers = { ...naming(backend), "X-Sandbox-ID": "other", Authorization: `Bearer ${token}` };
    expect(await fetchFrom(port, { headers })).toMatchObject({ status: 403 });
    expect(await fetchFrom(port, { headers: naming(backend) })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
      text: expect.stringMatching(/^{"detail":"Missing or invalid Authorization header.","remedy":"Send the header /),
    });
    const unknown = { ...naming(backend, "nobody"), Authorization: "Bearer x" };
    expect(await fetchFrom(port, { headers: unknown }), "who may not learns nothing").toMatchObject({ status: 401 });
    expect(seen).toEqual([]);
  });

  test("in the address of a page moves to a cookie for this sandbox alone", async () => {
    const { port, token, path } = await start();
    const headers = { Accept: "text/html", "Sec-Fetch-Mode": "navigate" };
    const reply = await fetchFrom(port, { path: `${path}/a?t=${token}&b=1`, headers });
    expect(reply).toMatchObject({
      status: 303,
      headers: { location: `${path}/a?b=1`, "referrer-policy": "no-referrer" },
    });
    expect(reply.headers["set-cookie"]?.[0]).toMatch(
      new RegExp(`^pass=${token}; Path=${path}/; HttpOnly; SameSite=Lax; Max-Age=(599|600); Secure$`),
    );
    expect(seen).toEqual([]);
  });

  test("in an address is never a service worker's to see, as there is none where addresses may carry tokens", async () => {
    const ask = async ({ port, backend, token }: Awaited<ReturnType<typeof start>>, worker: string) => {
      const headers = { Host: `${backend}-demo-team-a.d.example`, Cookie: `pass=${token}`, "Service-Worker": worker };
      return await fetchFrom(port, { path: "/worker.js", headers });
    };
    const router = await start();
    expect(await ask(router, "script")).toMatchObject({
      status: 403,
      text: '{"detail":"Service workers are not allowed, because URLs of this router may contain tokens."}',
    });
    expect(seen).toEqual([]);
    expect(await ask(router, ""), "another script").toMatchObject({ status: 200 });
    expect(await ask(await start(""), "script"), "no address carries a token").toMatchObject({ status: 200 });
  });

  test("never sends a browser to another host", async () => {
    const { port, backend, token } = await start();
    const headers = { Accept: "text/html", Host: `${backend}-demo-team-a.d.example` };
    for (const path of ["//evil.example/", "/\\evil.example/", "///evil.example/"]) {
      const { status, headers: { location = "" } } = await fetchFrom(port, { path: `${path}?t=${token}`, headers });
      expect(status, path).toBe(303);
      expect(new URL(location, `https://${headers.Host}/`).host, path).toBe(headers.Host);
    }
    expect(seen, "no page has the token in its address").toEqual([]);
  });

  test("in a cookie is no page's of another origin, sandboxes of the same domain included", async () => {
    const { port, backend, token } = await start();
    const Host = `${backend}-demo-team-a.d.example`;
    const ask = (headers: Record<string, string>, method = "GET") =>
      fetchFrom(port, { method, path: "/", headers: { Host, Cookie: `pass=${token}`, ...headers } });
    const own = [
      await ask({ Origin: `https://${Host}` }, "POST"),
      await ask({ Origin: "https://console.example" }, "POST"),
      await ask({ "Sec-Fetch-Site": "same-origin" }),
      await ask({ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }),
    ];
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const foreign = [
      await ask({ Origin: "https://80-evil-team-b.d.example" }, "POST"),
      await ask({ Origin: "null" }, "POST"),
      await ask({ "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" }),
      await ask({ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }, "POST"),
    ];
    expect(foreign.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    const socket = await dial(port);
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${Host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://evil.example\r\n` +
        `Cookie: pass=${token}\r\n\r\n`,
    );
    expect(await readUntil(socket, "}")).toContain("403 Forbidden");
  });
});

describe("limits", () => {
  test("createClientLimits() counts what runs and what comes, for each client", () => {
    const limits = createClientLimits({ clientRequestsPerSecond: 2, clientMaxConcurrent: 2 })!;
    const begin = (client: string, now = 0) => limits(client, now);
    const [one, two] = [begin("a"), begin("a")];
    expect(begin("a")).toMatchObject({ status: 429, detail: "2 requests of this client run already." });
    expect(begin("b")).toBeTypeOf("function");
    if (typeof one === "function") [one(), one()];
    expect(begin("a")).toBeTypeOf("function");
    expect(begin("a"), "an end counts once").toMatchObject({ status: 429 });
    if (typeof two === "function") two();
    const third = begin("a");
    expect(third, "twice as many at once as per second").toBeTypeOf("function");
    if (typeof third === "function") third();
    expect(begin("a")).toMatchObject({ status: 429, headers: { "Retry-After": "1" } });
    expect(begin("a", 1000)).toBeTypeOf("function");
    expect(createClientLimits({ clientRequestsPerSecond: 0, clientMaxConcurrent: 0 })).toBeUndefined();
  });

  test("a stream counts until it ends", async () => {
    const api = createFakeApi();
    putReady(api);
    const { port, router } = await startRouter(api, { clientMaxConcurrent: 1 });
    const backend = await startBackend((_, answer) => void answer.write("x"));
    const stream = await open(port, { headers: naming(backend.port) });
    expect(await fetchFrom(port, { headers: naming(backend.port) })).toMatchObject({ status: 429 });
    stream.on("error", () => {}).destroy();
    await until(() => router.metrics.now.inflight === 0);
    const next = await open(port, { headers: naming(backend.port) });
    expect(next.statusCode).toBe(200);
    next.on("error", () => {}).destroy();
  });
});
