import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { isCrossOrigin } from "../../../packages/router/access/crossorigin.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { dial, exchange, fetchFrom, readUntil } from "../client.ts";
import { putReady, putSandbox, startBackend, startRouter } from "../stage.ts";

const CONSOLE = "https://console.example";
const browser = {
  authzCookieName: undefined,
  authzCookieQueryParam: undefined,
  authzCookieSamesite: "Lax",
  authzCookieInsecure: false,
  authzCookieAllowedOrigins: [CONSOLE],
} as const;
const NAVIGATE = { "sec-fetch-mode": "navigate", accept: "text/html" };

describe("isCrossOrigin()", () => {
  test.for<[string, boolean, Record<string, string>, string?]>([
    ["a program", false, {}],
    ["a program that accepts anything", false, { accept: "*/*" }],
    ["the same host by Origin", false, { origin: "https://a.example" }, "POST"],
    ["another host by Origin", true, { origin: "https://b.example" }],
    ["another port by Origin", true, { origin: "https://a.example:8443" }],
    ["no origin at all", true, { origin: "null" }],
    ["an allowed origin", false, { origin: CONSOLE, "sec-fetch-site": "cross-site" }],
    ["its own page", false, { "sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors" }],
    ["somebody who typed the address", false, { "sec-fetch-site": "none", ...NAVIGATE }],
    ["a script of another site", true, { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }],
    ["an image of a sandbox of the same domain", true, { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }],
    ["a link", false, { "sec-fetch-site": "cross-site", "sec-fetch-dest": "document", ...NAVIGATE }],
    ["a form", true, { "sec-fetch-site": "cross-site", "sec-fetch-dest": "document", ...NAVIGATE }, "POST"],
    ["a frame", true, { "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe", ...NAVIGATE }],
    ["a page fetched ahead", true, {
      "sec-fetch-site": "cross-site",
      "sec-purpose": "prefetch;prerender",
      ...NAVIGATE,
    }],
    ["one fetched ahead by an old browser", true, { "sec-fetch-site": "cross-site", purpose: "prefetch", ...NAVIGATE }],
    ["no mode", true, { "sec-fetch-site": "cross-site", accept: "text/html" }],
    ["a script over plain HTTP", true, { referer: "http://b.example/page", accept: "*/*" }],
    ["a link over plain HTTP", false, { referer: "http://b.example/page", accept: "text/html,*/*" }],
    ["its own script over plain HTTP", false, { referer: "http://a.example/page?x", accept: "*/*" }],
    ["a frame of an allowed page", false, {
      referer: `${CONSOLE}/`,
      "sec-fetch-site": "cross-site",
      "sec-fetch-dest": "iframe",
      ...NAVIGATE,
    }],
  ])("%s: %s", ([, want, headers, method = "GET"]) => {
    const request = { method, headers: { host: "a.example", ...headers } } as unknown as IncomingMessage;
    expect(isCrossOrigin(request, browser)).toBe(want);
  });
});

describe("a page of another origin, where everybody is let in", () => {
  const SCRIPT = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script" };

  async function start() {
    const api = createFakeApi();
    putReady(api);
    putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
    const seen: string[] = [];
    const backend = await startBackend(({ url = "" }, answer) => {
      seen.push(url);
      answer.end("in");
    });
    const { port } = await startRouter(api, { pathRoutingPrefix: "/s", domain: "d.example" });
    const at = (name: string) => `/s/team-a/${name}/${backend.port}/x`;
    const isWoken = () => api.requests.some(({ method }) => method === "PATCH");
    return { port, backend: backend.port, seen, at, isWoken };
  }

  test("reads no script and wakes nothing without an Origin", async () => {
    const { port, at, seen, isWoken } = await start();
    for (const name of ["demo", "asleep"]) {
      expect(await fetchFrom(port, { path: at(name), headers: SCRIPT })).toMatchObject({ status: 403 });
      const frame = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe" };
      expect(await fetchFrom(port, { path: at(name), headers: frame })).toMatchObject({ status: 403 });
      expect(await fetchFrom(port, { path: at(name), headers: { Referer: "http://evil.example/" } }))
        .toMatchObject({ status: 403 });
    }
    const head = "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-Fetch-Site: cross-site\r\n";
    expect(await exchange(port, `GET ${at("asleep")} HTTP/1.1\r\n${head}\r\n`)).toContain("403 Forbidden");
    expect(seen).toEqual([]);
    expect(isWoken()).toBe(false);
  });

  test("wakes nothing with an Origin, which the sandbox judges where it is awake", async () => {
    const { port, at, seen, isWoken } = await start();
    const headers = { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors" };
    expect(await fetchFrom(port, { path: at("asleep"), headers })).toMatchObject({ status: 503 });
    expect(await fetchFrom(port, { path: at("demo"), headers })).toMatchObject({ status: 200 });
    const socket = await dial(port);
    socket.write(
      `GET ${at("asleep")} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Origin: https://evil.example\r\n\r\n",
    );
    expect(await readUntil(socket, "}")).toContain("503");
    expect(seen).toEqual(["/x"]);
    expect(isWoken()).toBe(false);
  });

  test("may lead a person there, and another port of the same sandbox wakes it", async () => {
    const { port, at, backend, isWoken } = await start();
    const link = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
    expect(await fetchFrom(port, { path: at("demo"), headers: link })).toMatchObject({ status: 200 });
    expect(isWoken()).toBe(false);
    const headers = {
      Host: `${backend}-asleep-team-a.d.example`,
      Origin: "https://3000-asleep-team-a.d.example",
      Accept: "text/html",
    };
    expect(await fetchFrom(port, { headers }), "the page that shows how far it is").toMatchObject({ status: 503 });
    expect(isWoken()).toBe(true);
  });
});
