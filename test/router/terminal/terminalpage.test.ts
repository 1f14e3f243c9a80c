import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { exchange, fetchFrom, open } from "../client.ts";
import { putReady, putSandbox, startBackend, startRouter } from "../stage.ts";
import type { RouterOptions } from "../../../packages/router/options.ts";

const BASE = "/s/team-a/demo/8080";
const PAGE = `${BASE}/.hookbox/terminal/`;
const FILES = ["page.js", "connection.js", "page.css", "icon.svg", "xterm.js", "xterm.css", "fit.js"];

async function start(over: Partial<RouterOptions> = {}) {
  const api = createFakeApi();
  putSandbox(api, "demo", { spec: { operatingMode: "Suspended" } });
  const stage = await startRouter(api, { pathRoutingPrefix: "/s", domain: "d.example", wake: false, ...over });
  const ask = (path: string, headers = {}, method = "GET") => fetchFrom(stage.port, { path, headers, method });
  return { ...stage, ask };
}

describe("the terminal page", () => {
  test("is there for a suspended sandbox, wakes nothing, and runs no script but its own", async () => {
    const { ask, api } = await start();
    const byPath = await ask(PAGE, { Accept: "text/html" });
    const byHost = await ask("/.hookbox/terminal/?cwd=src", { Host: "8080-demo-team-a.d.example" });
    for (const reply of [byPath, byHost]) {
      expect(reply).toMatchObject({
        status: 200,
        headers: {
          "content-type": "text/html; charset=utf-8",
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
        },
      });
      expect(reply.text).toContain("<title>team-a/demo – terminal</title>");
    }
    const policy = byPath.headers["content-security-policy"];
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(byPath.text).not.toMatch(/<script[^>]*>[^<]|\son\w+=/);
    expect(api.requests.filter(({ method }) => method === "PATCH")).toEqual([]);
  });

  test("brings all files that it names, each with its type", async () => {
    const { ask } = await start();
    const { text } = await ask(PAGE);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !FILES.includes(name))).toEqual([]);
    const replies = await Promise.all(FILES.map((name) => ask(`${PAGE}${name}`)));
    expect(replies.map(({ status }) => status)).toEqual(FILES.map(() => 200));
    expect(replies.map(({ headers }) => headers["content-type"]?.split(";")[0])).toEqual([
      "text/javascript",
      "text/javascript",
      "text/css",
      "image/svg+xml",
      "text/javascript",
      "text/css",
      "text/javascript",
    ]);
    expect(replies.map(({ headers }) => headers["x-content-type-options"])).toEqual(FILES.map(() => "nosniff"));
    expect(replies[4]?.text).toMatch(/export\{\w+ as Terminal\}/);
    expect(replies[6]?.text).toMatch(/export\{\w+ as FitAddon\}/);
  });

  test("sends a file small, and not again", async () => {
    const { ask, port } = await start();
    const plain = await ask(`${PAGE}xterm.js`);
    const small = await open(port, { path: `${PAGE}xterm.js`, headers: { "Accept-Encoding": "br, gzip" } });
    expect(small.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    const chunks: Uint8Array[] = [];
    for await (const chunk of small) chunks.push(chunk);
    expect(gunzipSync(Buffer.concat(chunks)).toString() === plain.text).toBe(true);
    expect(Number(small.headers["content-length"])).toBeLessThan(plain.text.length / 2);
    const { etag = "" } = plain.headers;
    expect(plain.headers["cache-control"]).toContain("no-cache");
    expect(await ask(`${PAGE}xterm.js`, { "If-None-Match": `"other", ${etag}` })).toMatchObject({
      status: 304,
      text: "",
    });
    expect(await ask(`${PAGE}page.js`, { "If-None-Match": etag })).toMatchObject({ status: 200 });
  });

  test("is found without its slash; the query stays", async () => {
    const { ask } = await start();
    const reply = await ask(`${BASE}/.hookbox/terminal?cwd=a%20b`);
    expect(reply).toMatchObject({ status: 308, headers: { location: "terminal/?cwd=a%20b" } });
    const { pathname, search } = new URL(reply.headers.location ?? "", `http://r${BASE}/.hookbox/terminal`);
    expect([pathname, search]).toEqual([PAGE, "?cwd=a%20b"]);
  });

  test("is only read", async () => {
    const { ask, port } = await start();
    expect(await ask(PAGE, {}, "HEAD")).toMatchObject({ status: 200, text: "" });
    expect(await ask(`${PAGE}page.js`, {}, "HEAD")).toMatchObject({ status: 200, text: "" });
    expect(await ask(PAGE, {}, "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    expect(await ask(`${PAGE}page.js`, {}, "DELETE")).toMatchObject({ status: 405 });
    const expecting = `GET ${PAGE} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`;
    expect(await exchange(port, expecting)).toMatch(/^HTTP\/1.1 417 [^]*\r\nConnection: close\r\n/);
  });

  test("has nothing else under its path, and leads nowhere", async () => {
    const { ask, port } = await start();
    for (const name of ["other", "constructor", "../../../../package.json", "page/page.js", "/page.js"]) {
      expect(await ask(`${PAGE}${name}`), name).toMatchObject({ status: 404 });
    }
    const upgrade = `GET ${PAGE} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await exchange(port, upgrade)).toMatch(/^HTTP\/1.1 400 /);
  });

  test("tells how far the sandbox is", async () => {
    const { ask } = await start();
    const { text } = await ask(PAGE, { "X-Sandbox-Wake-Poll": "1" });
    expect(JSON.parse(text)).toEqual({ state: "waiting", phase: "suspended", cause: "" });
  });
});

describe("what is not the page's", () => {
  test.for([
    ["another path that begins like it", `${BASE}/.hookbox/terminals/`],
    ["one above it", `${BASE}/.hookbox/`],
    ["the same at the end of another", `${BASE}/a/.hookbox/terminal/`],
    ["the same in a query", `${BASE}/?/.hookbox/terminal/`],
  ])("%s is the sandbox's", async ([, path = ""]) => {
    const { ask } = await start();
    expect(await ask(path)).toMatchObject({ status: 503, text: expect.stringContaining("is suspended") });
  });

  test("the same on another port is the sandbox's", async () => {
    const api = createFakeApi();
    putReady(api);
    const { port } = await startRouter(api, { pathRoutingPrefix: "/s" });
    const backend = await startBackend(({ url }, answer) => answer.end(`the sandbox's own ${url}`));
    const reply = await fetchFrom(port, { path: `/s/team-a/demo/${backend.port}/.hookbox/terminal/` });
    expect(reply).toMatchObject({ status: 200, text: "the sandbox's own /.hookbox/terminal/" });
  });

  test("with --no-terminal-page all of it is the sandbox's", async () => {
    const { ask } = await start({ terminalPage: false });
    for (const path of [PAGE, `${PAGE}page.js`, PAGE.slice(0, -1)]) {
      expect(await ask(path), path).toMatchObject({ status: 503, text: expect.stringContaining("is suspended") });
    }
  });
});
