/** E2B's requests for files by HTTP, and who may send them. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../tempfolder.ts";
import { formOf, send } from "../servers.ts";
import { clientOf, startSandbox } from "./sandbox.ts";

const RAW = { "Content-Type": "application/octet-stream" };

test("a download is compressed if the client accepts that, but not a part of it", async () => {
  const { port, home } = await startSandbox();
  const content = "line\n".repeat(1000);
  writeFileSync(join(home, "a b.txt"), content);
  const get = (headers: Record<string, string> = {}) => send(port, "GET", "/files?path=a%20b.txt", { headers });
  const plain = await get();
  expect([plain.status, plain.text]).toEqual([200, content]);
  expect(plain.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "content-disposition": "inline",
    "content-length": "5000",
    "accept-ranges": "bytes",
    "last-modified": new Date(Math.floor(statSync(join(home, "a b.txt")).mtimeMs)).toUTCString(),
  });
  for (const accepted of ["gzip, deflate", "*", "identity;q=0.5, gzip"]) {
    const { headers, body } = await get({ "Accept-Encoding": accepted });
    expect([headers["content-encoding"], gunzipSync(body).toString()]).toEqual(["gzip", content]);
  }
  for (const accepted of ["", "deflate", "gzip;q=0", "gzip;q=0.1, identity"]) {
    const { headers, text } = await get({ "Accept-Encoding": accepted });
    expect([headers["content-encoding"], text]).toEqual([undefined, content]);
  }
  for (const accepted of ["identity;q=0", "*;q=0"]) {
    expect((await get({ "Accept-Encoding": accepted })).status).toBe(406);
  }
  const part = await get({ "Accept-Encoding": "gzip", "Range": "bytes=5-8" });
  expect([part.status, part.text, part.headers["content-range"]]).toEqual([206, "line", "bytes 5-8/5000"]);
  expect((await get({ Range: "bytes=9000-" })).status).toBe(416);
  const tag = String(plain.headers["etag"]);
  expect((await get({ "Accept-Encoding": "gzip", "If-None-Match": tag })).status).toBe(304);
  const modified = String(plain.headers["last-modified"]);
  expect((await get({ "Accept-Encoding": "gzip", "If-Modified-Since": modified })).status).toBe(304);
  expect((await get({ "If-Modified-Since": new Date(0).toUTCString() })).status).toBe(200);
  // What does not become smaller is not compressed.
  writeFileSync(join(home, "random"), randomBytes(100_000));
  const random = await send(port, "GET", "/files?path=random", { headers: { "Accept-Encoding": "gzip" } });
  expect([random.headers["content-encoding"], random.body.length]).toEqual([undefined, 100_000]);
  writeFileSync(join(home, "empty"), "");
  const empty = await send(port, "GET", "/files?path=empty", { headers: { "Accept-Encoding": "gzip" } });
  expect([empty.status, empty.headers["content-length"], empty.text]).toEqual([200, "0", ""]);
});

test("an upload is a form or raw bytes, and its answer is never empty", async () => {
  const { port, home } = await startSandbox();
  const post = async (query: string, sent: { headers?: Record<string, string>; body?: string | Uint8Array }) => {
    const { status, text } = await send(port, "POST", `/files${query}`, sent);
    return { status, body: JSON.parse(text) };
  };
  const entry = (name: string) => [{ name, path: join(home, "d", name), type: "file" }];
  expect(await post("", formOf("d/ü.txt", "1"))).toEqual({ status: 200, body: entry("ü.txt") });
  // The query wins.
  expect(await post("?path=d/b", formOf("other", "1"))).toEqual({ status: 200, body: entry("b") });
  const zipped = { headers: { ...RAW, "Content-Encoding": "gzip" }, body: gzipSync("text") };
  expect(await post("?path=d/c", zipped)).toEqual({ status: 200, body: entry("c") });
  expect((await send(port, "GET", "/files?path=d/c")).text).toBe("text");
  expect(statSync(join(home, "d/c")).mode & 0o777).toBe(0o644);
  const refused: [string, Parameters<typeof post>[1], number][] = [
    ["?path=x", { headers: { ...RAW, "Content-Encoding": "gzip" }, body: "no gzip" }, 400],
    ["?path=x", { headers: { ...RAW, "Content-Encoding": "br" }, body: "x" }, 400],
    ["", { headers: RAW, body: "x" }, 400],
    ["?path=x", { headers: { "Content-Type": "text/plain" }, body: "x" }, 400],
    ["?path=x", formOf("x", "1", "other"), 400],
    ["?path=d", { headers: RAW, body: "x" }, 400],
    ["?path=x", { headers: { ...RAW, "X-Metadata-A": "\u00e4" }, body: "x" }, 400],
    ["?path=x&username=no-such-user", { headers: RAW, body: "x" }, 401],
    ["?path=/proc/none", { headers: RAW, body: "x" }, 404],
  ];
  for (const [query, sent, status] of refused) {
    expect(await post(query, sent), query).toEqual({ status, body: { code: status, message: expect.any(String) } });
  }
  expect((await send(port, "GET", "/files?path=x")).status).toBe(404);
});

test("errors are JSON with the status, and what E2B's hosts call from outside does not exist", async () => {
  const { port } = await startSandbox();
  expect((await send(port, "GET", "/health")).status).toBe(204);
  for (const [method, path] of [["POST", "/init"], ["GET", "/nothing"], ["PUT", "/files"]] as const) {
    const { status, text } = await send(port, method, path);
    expect([status, JSON.parse(text)]).toEqual([404, { code: 404, message: `there is no ${method} ${path}` }]);
  }
  expect(JSON.parse((await send(port, "GET", "/envs")).text)).toEqual({});
  expect(JSON.parse((await send(port, "GET", "/metrics")).text)).toEqual({
    ts: expect.any(Number),
    cpu_count: expect.any(Number),
    cpu_used_pct: expect.any(Number),
    mem_total: expect.any(Number),
    mem_used: expect.any(Number),
    disk_total: expect.any(Number),
    disk_used: expect.any(Number),
  });
});

test("with a token, requests need it, and pages of all sites may use it", async () => {
  const file = join(makeTempFolder(), "token");
  writeFileSync(file, "the-token");
  const { port } = await startSandbox("--token-file", file);
  const status = async (headers: Record<string, string>) => (await send(port, "GET", "/envs", { headers })).status;
  expect(await status({ "X-Access-Token": "the-token" })).toBe(200);
  expect(await status({ "Authorization": "Bearer the-token" })).toBe(200);
  const basic = `Basic ${Buffer.from("root:").toString("base64")}`;
  expect(await status({ "X-Access-Token": "the-token", "Authorization": basic })).toBe(200);
  expect(await status({ "X-Access-Token": "other", "Authorization": "Bearer the-token" })).toBe(401);
  expect(await status({ "Authorization": basic })).toBe(401);
  expect((await send(port, "GET", "/health")).status).toBe(204);
  const refused = await send(port, "GET", "/files?path=/etc/passwd");
  expect([refused.status, JSON.parse(refused.text)]).toEqual([401, { code: 401, message: expect.any(String) }]);
  await expect(clientOf(port).commands.run("true")).rejects.toMatchObject({ name: "AuthenticationError" });
  expect(await clientOf(port, "the-token").commands.run("echo in")).toMatchObject({ stdout: "in\n" });
  const page = { Origin: "https://other.example" };
  const allowed = await send(port, "GET", "/envs", { headers: { ...page, "X-Access-Token": "the-token" } });
  expect([allowed.status, allowed.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  const asked = await send(port, "OPTIONS", "/process.Process/Start", {
    headers: {
      ...page,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "content-type,x-access-token",
    },
  });
  expect([asked.status, asked.headers["access-control-allow-origin"], asked.headers["access-control-allow-headers"]])
    .toEqual([204, "*", "content-type,x-access-token"]);
});

test("without a token, pages of other sites and names that lead here by DNS are refused", async () => {
  const { port } = await startSandbox();
  const foreign = await send(port, "GET", "/envs", { headers: { Origin: "https://other.example" } });
  expect([foreign.status, foreign.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  expect((await send(port, "GET", "/envs", { headers: { Host: "other.example" } })).status).toBe(403);
});
