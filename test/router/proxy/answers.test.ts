/** Answers that no sandbox sends who means well: each client gets one, and so does the next. @module */
import { expect, onTestFinished, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { watchForCrashes } from "../../fuzz/wire.ts";
import { fetchFrom, fetchHttp2 } from "../client.ts";
import { OK, startRaw } from "../rawbackend.ts";
import { naming, putReady, startRouter } from "../stage.ts";

/** A router for both versions before a sandbox that sends these bytes first, and what is right from then on. */
async function start(bytes: string) {
  const api = createFakeApi();
  putReady(api);
  const browser = {
    authzCookieQueryParam: undefined,
    authzCookieSamesite: "Lax",
    authzCookieInsecure: false,
    authzCookieAllowedOrigins: [],
  } as const;
  const { port } = await startRouter(api, { browser: { ...browser, authzCookieName: "pass" } }, true);
  const raw = await startRaw((socket) => socket.end(raw.requests % 2 === 1 ? bytes : OK, "latin1"));
  const { crashes, stop } = watchForCrashes();
  onTestFinished(stop);
  return { port, headers: naming(raw.port), crashes };
}

const of = (...lines: string[]) => `${["HTTP/1.1 200 OK", ...lines, "Content-Length: 2"].join("\r\n")}\r\n\r\nok`;
const trailed = (...lines: string[]) =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${lines.join("\r\n")}\r\n\r\n`;

test.for<[name: string, bytes: string, http1: number, http2: number]>([
  ["a control character in the reason", "HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok", 502, 200],
  ["two ETags; HTTP/2 takes one", of('ETag: "a"', 'ETag: "b"'), 200, 502],
  ["two Dates", of("Date: a", "Date: b"), 200, 502],
  ["two Locations", of("Location: /a", "Location: /b"), 200, 502],
  ["a status of no class that HTTP/2 has", "HTTP/1.1 999 OK\r\nContent-Length: 2\r\n\r\nok", 999, 502],
  ["a status below all", "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nok", 502, 502],
  ["a switch to nothing", "HTTP/1.1 101 Switching Protocols\r\n\r\n", 502, 502],
  ["a trailer that concerns one connection", trailed("Keep-Alive: x"), 200, 200],
])("%s: both versions get an answer, and the next one too", async ([, bytes, http1, http2]) => {
  const { port, headers, crashes } = await start(bytes);
  expect((await fetchFrom(port, { headers })).status).toBe(http1);
  expect(await fetchFrom(port, { headers })).toMatchObject({ status: 200, text: "ok" });
  expect(await fetchHttp2(port, headers)).toMatchObject({ status: http2, code: 0 });
  expect(await fetchHttp2(port, headers)).toMatchObject({ status: 200, text: "ok", code: 0 });
  expect(crashes).toEqual([]);
});

test("what stands behind a body passes as what stands before it does", async () => {
  const { port, headers } = await start(trailed("X-Sum: 1", "Set-Cookie: pass=stolen", "Keep-Alive: x"));
  expect((await fetchFrom(port, { headers })).trailers).toEqual({ "x-sum": "1" });
  await fetchFrom(port, { headers });
  expect(Object.entries((await fetchHttp2(port, headers)).trailers)).toEqual([["x-sum", "1"]]);
});

test("a header that is called like what every object has passes as it is", async () => {
  const { port, headers } = await start(of("constructor: 1", "__proto__: 2"));
  const found = (await fetchHttp2(port, headers)).headers;
  expect([found["constructor"], Object.entries(found).find(([name]) => name === "__proto__")?.[1]]).toEqual(["1", "2"]);
});

test("a head of up to 64 KiB passes, and a longer one is refused in words", async () => {
  const maxHeaderSize = 128 * 1024;
  const { port, headers } = await start(of(`X-Long: ${"x".repeat(60_000)}`));
  expect((await fetchFrom(port, { headers, maxHeaderSize })).headers["x-long"]).toHaveLength(60_000);
  expect((await fetchFrom(port, { headers })).text).toBe("ok");
  expect((await fetchHttp2(port, headers)).headers["x-long"]).toHaveLength(60_000);
  const longer = await start(of(`X-Long: ${"x".repeat(70_000)}`));
  expect(await fetchFrom(longer.port, { headers: longer.headers, maxHeaderSize })).toMatchObject({
    status: 502,
    text: expect.stringContaining("its answer has more than 64 KiB of headers"),
  });
});
