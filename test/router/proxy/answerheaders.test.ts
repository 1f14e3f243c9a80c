import { describe, expect, test } from "vitest";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import { STORED_BY_BROWSERS } from "../../../packages/router/proxy/headers.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, exchange, fetchFrom, fetchHttp2, readUntil } from "../client.ts";
import { headOf, startRaw } from "../rawbackend.ts";
import { naming, putReady, putSandbox, startBackend, startRouter } from "../stage.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Buffer } from "node:buffer";

/** The names as they are mostly written, and what decision 0042 lists: a name that is taken off our list is still here. */
const KEPT = [
  ...["NEL", "Report-To", "Reporting-Endpoints", "Expect-CT", "Public-Key-Pins", "Public-Key-Pins-Report-Only"],
  ...["Service-Worker-Allowed", "Alt-Svc", "Clear-Site-Data", "Strict-Transport-Security"],
  ...["Origin-Agent-Cluster", "Origin-Trial", "Accept-CH", "Accept-CH-Lifetime", "Critical-CH", "Use-As-Dictionary"],
  ...["Set-Login", "Secure-Session-Registration", "Secure-Session-Challenge"],
  ...["Sec-Session-Registration", "Sec-Session-Challenge"],
  ...["Source", "Trigger", "OS-Source", "OS-Trigger"].map((what) => `Attribution-Reporting-Register-${what}`),
  ...["Shared-Storage-Write", "Observe-Browsing-Topics", "Ad-Auction-Signals", "Ad-Auction-Additional-Bid"],
  "Activate-Storage-Access",
];
const SAFE = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" };

async function start(over: Parameters<typeof startRouter>[1] = {}) {
  const api = createFakeApi();
  putReady(api);
  putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
  return await startRouter(api, { pathRoutingPrefix: "/s", domain: "d.example", ...over }, true);
}

describe("what browsers keep for a whole origin", () => {
  const NAMES = [...STORED_BY_BROWSERS, ...KEPT];

  test("is none of a sandbox's to set, however it is named and asked", async () => {
    const { port } = await start();
    const backend = await startBackend((_, answer) => {
      for (const name of NAMES) answer.setHeader(name, "x");
      answer.setHeader("Trailer", "NEL").setHeader("Content-Security-Policy", "default-src 'self'");
      answer.write("in");
      answer.addTrailers({ NEL: "x", "X-Sum": "1" });
      answer.end();
    });
    const host = `${backend.port}-demo-team-a.d.example`;
    const replies = [
      await fetchFrom(port, { headers: naming(backend.port) }),
      await fetchFrom(port, { path: `/s/team-a/demo/${backend.port}/` }),
      await fetchFrom(port, { headers: { Host: host } }),
      await fetchHttp2(port, naming(backend.port)),
    ];
    for (const { headers, trailers } of replies) {
      expect(headers).toMatchObject({ "content-security-policy": "default-src 'self'", ...SAFE });
      for (const name of NAMES) expect(headers, name).not.toHaveProperty(name.toLowerCase());
      expect(Object.keys(trailers)).toEqual(["x-sum"]);
    }
  });

  test("passes with neither a refused nor an accepted change of protocol", async () => {
    const { port } = await start();
    const ask = async (status: string) => {
      const raw = await startRaw((socket) => socket.end(`HTTP/1.1 ${status}\r\nNEL: x\r\nX-Own: 1\r\n\r\n`));
      const head = `Host: localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n${headOf(raw.port)}`;
      return await exchange(port, `GET / HTTP/1.1\r\n${head}\r\n`);
    };
    for (const status of ["101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", "403 Forbidden"]) {
      const text = await ask(status);
      expect(text).toContain("X-Own: 1");
      expect(text).not.toMatch(/nel/i);
    }
  });
});

describe("X-Content-Type-Options and Cross-Origin-Resource-Policy", () => {
  test("come with every answer of a sandbox, which may open what is its own", async () => {
    const { port } = await start();
    const backend = await startBackend(({ url }, answer) => {
      if (url === "/open") answer.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
      answer.setHeader("X-Content-Type-Options", "none").end("in");
    });
    const ask = async (path: string) => (await fetchFrom(port, { path, headers: naming(backend.port) })).headers;
    expect(await ask("/")).toMatchObject(SAFE);
    expect(await ask("/open")).toMatchObject({ ...SAFE, "cross-origin-resource-policy": "cross-origin" });
  });

  test("come with every answer of the router's own", async () => {
    const { port } = await start();
    const page = { Accept: "text/html", "Sec-Fetch-Mode": "navigate" };
    const replies = {
      health: await fetchFrom(port, { path: "/healthz" }),
      "bad request": await fetchFrom(port, { headers: { "X-Sandbox-ID": "?" } }),
      missing: await fetchFrom(port, { headers: naming(1, "nobody") }),
      "bad gateway": await fetchFrom(port, { headers: naming(1) }),
      "wake page": await fetchFrom(port, { path: "/s/team-a/asleep/80/", headers: page }),
      phase: await fetchFrom(port, { path: "/s/team-a/asleep/80/", headers: { "X-Sandbox-Wake-Poll": "1" } }),
      terminal: await fetchFrom(port, { path: "/s/team-a/demo/8080/.hookbox/terminal/" }),
      "terminal's file": await fetchFrom(port, { path: "/s/team-a/demo/8080/.hookbox/terminal/page.js" }),
      "terminal's slash": await fetchFrom(port, { path: "/s/team-a/demo/8080/.hookbox/terminal" }),
    };
    for (const [name, { headers }] of Object.entries(replies)) expect(headers, name).toMatchObject(SAFE);
    const socket = await dial(port);
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    const refused = await readUntil(socket, "}");
    expect(refused).toMatch(/^HTTP\/1\.1 400 /);
    expect(refused).toContain("X-Content-Type-Options: nosniff\r\n");
    expect(refused).toContain("Cross-Origin-Resource-Policy: same-origin\r\n");
  });

  test("let a page embed what it has a token of its own for", async () => {
    const secretFile = join(makeTempFolder(), "secret");
    const secret = "0123456789abcdef0123456789abcdef";
    writeFileSync(secretFile, secret);
    const browser = {
      authzCookieName: "pass",
      authzCookieQueryParam: "t",
      authzCookieSamesite: "Lax",
      authzCookieInsecure: false,
      authzCookieAllowedOrigins: [],
    } as const;
    const { port } = await start({ authz: { mode: "scoped-token", secretFile }, browser });
    const referers: unknown[] = [];
    const backend = await startBackend(({ headers }, answer) => {
      referers.push(headers.referer);
      answer.end("in");
    });
    const exp = Math.floor(Date.now() / 1000) + 600;
    const token = await signToken(Buffer.from(secret), { ns: "team-a", name: "demo", exp });
    const ask = (path: string, headers: Record<string, string>) =>
      fetchFrom(port, { path: `/s/team-a/demo/${backend.port}${path}`, headers });
    const image = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", Accept: "image/*" };
    expect(await ask(`/i.png?t=${token}`, image)).toMatchObject({
      status: 200,
      headers: { "cross-origin-resource-policy": "cross-origin" },
    });
    const referer = `https://d.example/page?t=${token}&a=1`;
    const own = { Cookie: `pass=${token}`, "Sec-Fetch-Site": "same-origin", Referer: referer };
    expect(await ask("/i.png", own)).toMatchObject({ status: 200, headers: SAFE });
    expect(referers, "and no sandbox sees the token").toEqual([undefined, "https://d.example/page?a=1"]);
  });
});

test("no cache takes the answer of one sandbox for that of another, where headers name them", async () => {
  const { port } = await start();
  const backend = await startBackend((_, answer) => {
    answer.setHeader("Cache-Control", "public, max-age=31536000").setHeader("Vary", "Accept").end("in");
  });
  const varyOf = async (request: Parameters<typeof fetchFrom>[1]) => (await fetchFrom(port, request)).headers["vary"];
  const names = "X-Sandbox-ID, X-Sandbox-Namespace, X-Sandbox-Port";
  expect(await varyOf({ headers: naming(backend.port) })).toBe(`Accept, ${names}`);
  expect((await fetchHttp2(port, naming(backend.port))).headers["vary"]).toBe(`Accept, ${names}`);
  expect(await varyOf({ path: `/s/team-a/demo/${backend.port}/` })).toBe("Accept");
  expect(await varyOf({ headers: { Host: `${backend.port}-demo-team-a.d.example` } })).toBe("Accept");
});

describe("addresses and cookies in answers", () => {
  const asApp = (redirect: string) =>
    startBackend(({ headers }, answer) => {
      const location = redirect.replace("HOST", headers.host ?? "");
      answer.writeHead(302, { Location: location, "Set-Cookie": ["a=1; Path=/", "b=2; Domain=d.example"] }).end();
    });

  test("lead below the path that names the sandbox, unless an option keeps them", async () => {
    const backend = await asApp("http://HOST/next?x=1");
    const base = `/s/team-a/demo/${backend.port}`;
    const { port } = await start();
    expect(await fetchFrom(port, { path: `${base}/` })).toMatchObject({
      status: 302,
      headers: { location: `${base}/next?x=1`, "set-cookie": [`a=1; Path=${base}/`, `b=2; Path=${base}/`] },
    });
    const left = await start({ pathRoutingRewriteResponses: false });
    expect((await fetchFrom(left.port, { path: `${base}/` })).headers).toMatchObject({
      location: `http://127.0.0.1:${backend.port}/next?x=1`,
      "set-cookie": ["a=1; Path=/", "b=2; Domain=d.example"],
    });
  });

  test("lead to the router from wherever an app says that it is", async () => {
    const backend = await asApp("http://HOST/next");
    const { port } = await start();
    const byHost = { headers: { Host: `${backend.port}-demo-team-a.d.example` } };
    const want = { location: "/next", "set-cookie": ["a=1; Path=/", "b=2"] };
    expect((await fetchFrom(port, byHost)).headers).toMatchObject(want);
    expect((await fetchFrom(port, { headers: naming(backend.port) })).headers).toMatchObject({ location: "/next" });
  });

  test("are rewritten where an app accepts another protocol, too: browsers keep its cookies", async () => {
    const raw = await startRaw((socket) => {
      const cookies = "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; Domain=d.example\r\n";
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n${cookies}\r\n`);
    });
    const base = `/s/team-a/demo/${raw.port}`;
    const { port } = await start();
    const cookiesOf = async (path: string, host: string) => {
      const socket = await dial(port);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
      const head = await readUntil(socket, "\r\n\r\n");
      return head.split("\r\n").filter((line) => line.startsWith("Set-Cookie"));
    };
    const below = [`Set-Cookie: a=1; Path=${base}/`, `Set-Cookie: b=2; Path=${base}/`];
    expect(await cookiesOf(`${base}/`, "localhost")).toEqual(below);
    const byHost = await cookiesOf("/", `${raw.port}-demo-team-a.d.example`);
    expect(byHost).toEqual(["Set-Cookie: a=1; Path=/", "Set-Cookie: b=2"]);
  });

  test.for(["pod", "localhost", "client"] as const)("an app gets a Host: %s", async (upstreamHost) => {
    const backend = await startBackend(({ headers }, answer) => answer.end(headers.host));
    backend.server.on("upgrade", ({ headers }, socket) => socket.end(`HTTP/1.1 403 No\r\n\r\nhost ${headers.host}`));
    const { port } = await start({ upstreamHost });
    const want = { pod: `127.0.0.1:${backend.port}`, localhost: `localhost:${backend.port}`, client: "app.localhost" };
    const headers = { ...naming(backend.port), Host: "app.localhost" };
    expect((await fetchFrom(port, { headers })).text).toBe(want[upstreamHost]);
    const head = `Host: app.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n${headOf(backend.port)}`;
    expect(await exchange(port, `GET / HTTP/1.1\r\n${head}\r\n`)).toContain(`host ${want[upstreamHost]}`);
  });

  test("an app gets the protocol of the client from a trusted proxy alone", async () => {
    const backend = await startBackend(({ headers }, answer) => answer.end(headers["x-forwarded-proto"]));
    const headers = { ...naming(backend.port), "X-Forwarded-Proto": "http, https" };
    expect((await fetchFrom((await start()).port, { headers })).text).toBe("http");
    const { port } = await start({ trustedProxies: ["127.0.0.1"] });
    expect((await fetchFrom(port, { headers })).text).toBe("https");
    expect((await fetchFrom(port, { headers: { ...headers, "X-Forwarded-Proto": "ftp" } })).text).toBe("http");
  });
});
