/** Port 8080: the published protocol, request by request, on a real socket. @module */
import { Buffer } from "node:buffer";
import { readFile, stat, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { readdir } from "node:fs/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { formOf, send, type Sent, startTestRuntime } from "../servers.ts";
import { eventually } from "../../eventually.ts";

let made: TestRoot;
let runtime: Runtime;

beforeEach(async () => {
  made = await makeRoot({ "file": "0123456789", "d/sub/f": "deep", "empty/": "" });
  runtime = await startTestRuntime(made.root.path);
  return () => runtime.stop();
});

const ask = (method: string, path: string, sent?: Sent) => send(runtime.restPort, method, path, sent);

test("GET of a file gives its bytes, HEAD what goes with them", async () => {
  const got = await ask("GET", "/v1/files/file");
  expect([got.status, got.text]).toEqual([200, "0123456789"]);
  expect(got.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": "10",
    "accept-ranges": "bytes",
    "cache-control": "no-cache",
  });
  const head = await ask("HEAD", "/v1/files/file");
  expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, "10"]);
  expect([head.headers["etag"], head.headers["last-modified"]]).toEqual([
    got.headers["etag"],
    got.headers["last-modified"],
  ]);
  expect((await ask("HEAD", "/v1/files/none")).status).toBe(404);
  const folder = await ask("HEAD", "/v1/files/d");
  expect([folder.status, folder.headers["cache-control"]], "or browsers show what was there before").toEqual([
    200,
    "no-cache",
  ]);
});

test.for(
  [
    ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
    ["bytes=4-", 206, "456789", "bytes 4-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=8-99", 206, "89", "bytes 8-9/10"],
    ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=9-9", 206, "9", "bytes 9-9/10"],
    ["bytes=10-", 416, undefined, "bytes */10"],
    ["bytes=-0", 416, undefined, "bytes */10"],
    ["bytes=3-1", 200, "0123456789", undefined],
    ["bytes=0-1,3-4", 200, "0123456789", undefined],
    ["lines=1-2", 200, "0123456789", undefined],
  ] as const,
)("GET with Range %s answers %i", async ([range, status, text, contentRange]) => {
  const got = await ask("GET", "/v1/files/file", { headers: { Range: range } });
  expect([got.status, got.headers["content-range"]]).toEqual([status, contentRange]);
  if (text === undefined) expect(JSON.parse(got.text)).toMatchObject({ code: "OUT_OF_RANGE" });
  else expect(got.text).toBe(text);
});

test("GET sends nothing anew that has not changed, and a range only of the same file", async () => {
  const { headers: { etag } } = await ask("GET", "/v1/files/file");
  expect((await ask("GET", "/v1/files/file", { headers: { "If-None-Match": `${etag}` } })).status).toBe(304);
  const range = { Range: "bytes=0-0", "If-Range": `${etag}` };
  expect((await ask("GET", "/v1/files/file", { headers: range })).status).toBe(206);
  await writeFile(made.at("file"), "changed!");
  expect((await ask("GET", "/v1/files/file", { headers: range })).text).toBe("changed!");
});

test("GET of a folder lists it", async () => {
  await symlink("../../secret", made.at("d/out"));
  const { status, text } = await ask("GET", "/v1/files/d");
  const { path, entries } = JSON.parse(text);
  expect([status, path]).toEqual([200, "d"]);
  expect(entries).toEqual([{
    name: "sub",
    size: expect.any(Number),
    type: "directory",
    modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
    mode: "0755",
  }]);
  for (
    const root of ["/v1/files", "/v1/files/", "/v1/files/.", "/v1/files/%2E", "/v1/files/%2F", "/v1/files/d%2F%2E%2E"]
  ) {
    const names = JSON.parse((await ask("GET", root)).text).entries.map(({ name }: { name: string }) => name);
    expect([root, names]).toEqual([root, ["d", "empty", "file"]]);
  }
});

test.for(["d/sub/f", "d%2Fsub%2Ff", "d%2Fsub/f", "d/%2E/sub/f", "d%2F%2E%2E%2Fd%2Fsub%2Ff", "%64/sub/f", "d//sub/f"])(
  "GET %s finds the file",
  async (path) => {
    expect((await ask("GET", `/v1/files/${path}`)).text).toBe("deep");
  },
);

test("PUT writes, makes folders on the way, sets the mode", async () => {
  const put = await ask("PUT", "/v1/files/new%2Fdeep%2Ff.txt?mode=0640", { body: "hello" });
  expect([put.status, put.text]).toEqual([204, ""]);
  expect(await readFile(made.at("new/deep/f.txt"), "utf8")).toBe("hello");
  expect((await stat(made.at("new/deep/f.txt"))).mode & 0o777).toBe(0o640);
  expect((await ask("PUT", "/v1/files/none")).status).toBe(204);
  expect((await stat(made.at("none"))).size).toBe(0);
});

test("PUT takes a form with a file, and chunks without a length", async () => {
  expect((await ask("PUT", "/v1/files/form", formOf("other/name", "from a form"))).status).toBe(204);
  expect(await readFile(made.at("form"), "utf8")).toBe("from a form");
  expect((await ask("PUT", "/v1/files/form", formOf("x", "", "wrong"))).status).toBe(400);
  const body = "chunks ".repeat(1000);
  const headers = { "Transfer-Encoding": "chunked", "Content-Type": "application/octet-stream" };
  expect((await ask("PUT", "/v1/files/chunked", { body, headers })).status).toBe(204);
  expect(await readFile(made.at("chunked"), "utf8")).toBe(body);
});

test.for(
  [
    ["GET", "none", 404, "NOT_FOUND"],
    ["GET", "file/below", 404, "NOT_FOUND"],
    ["GET", "..", 403, "PERMISSION_DENIED"],
    ["GET", "%2E%2E%2Fsecret", 403, "PERMISSION_DENIED"],
    ["GET", "%ff", 404, "NOT_FOUND"],
    ["GET", "%zz", 400, "INVALID_ARGUMENT"],
    ["GET", "a%00b", 400, "INVALID_ARGUMENT"],
    ["PUT", "d", 400, "INVALID_ARGUMENT"],
    ["PUT", "", 400, "INVALID_ARGUMENT"],
    ["PUT", "file/below", 400, "INVALID_ARGUMENT"],
    ["PUT", "f?mode=644", 400, "INVALID_ARGUMENT"],
    ["PUT", "f?mode=0888", 400, "INVALID_ARGUMENT"],
    ["PUT", "f?mode=04755", 400, "INVALID_ARGUMENT"],
    ["PUT", "f?mode=", 400, "INVALID_ARGUMENT"],
    ["PUT", "..%2Fx", 403, "PERMISSION_DENIED"],
    ["DELETE", "none", 404, "NOT_FOUND"],
    ["DELETE", "d", 409, "CONFLICT"],
    ["DELETE", "d?recursive=false", 409, "CONFLICT"],
    ["DELETE", "d?recursive=maybe", 400, "INVALID_ARGUMENT"],
    ["DELETE", "", 400, "INVALID_ARGUMENT"],
    ["DELETE", "..?recursive=true", 403, "PERMISSION_DENIED"],
    ["POST", "file", 405, "UNIMPLEMENTED"],
  ] as const,
)("%s %s answers %i %s", async ([method, path, status, code]) => {
  const got = await ask(method, `/v1/files/${path}`);
  expect([got.status, JSON.parse(got.text)]).toEqual([status, { code, message: expect.stringMatching(/^Cannot /) }]);
  expect(got.headers["content-type"]).toBe("application/json");
  expect(got.text).not.toContain(made.around);
});

test("DELETE removes: a file, an empty folder, a full one if asked, and all there is", async () => {
  for (const path of ["file", "empty", "d?recursive=true"]) {
    expect([path, (await ask("DELETE", `/v1/files/${path}`)).status]).toEqual([path, 204]);
  }
  expect(await readdir(made.root.path)).toEqual([]);
  await writeFile(made.at("again"), "");
  expect((await ask("DELETE", "/v1/files/?recursive=true")).status).toBe(204);
  expect(await readdir(made.root.path)).toEqual([]);
});

test("an upload that breaks off leaves the old file and nothing else", async () => {
  for (const headers of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
    const socket = connect(runtime.restPort, "127.0.0.1");
    socket.write(`PUT /v1/files/file HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n5\r\nhello\r\n`);
    await eventually(() => readdir(made.root.path)).toHaveLength(4);
    socket.destroy();
    await eventually(() => readdir(made.root.path)).toEqual(["d", "empty", "file"]);
    expect(await readFile(made.at("file"), "utf8")).toBe("0123456789");
  }
});

test("a form that breaks off does as well", async () => {
  const { headers, body } = formOf("x", "half a file");
  const socket = connect(runtime.restPort, "127.0.0.1");
  const type = `Content-Type: ${headers?.["Content-Type"]}\r\nContent-Length: 99999`;
  socket.write(Buffer.concat([
    Buffer.from(`PUT /v1/files/file HTTP/1.1\r\nHost: localhost\r\n${type}\r\n\r\n`),
    Buffer.from(body as Uint8Array).subarray(0, -20),
  ]));
  await eventually(() => readdir(made.root.path)).toHaveLength(4);
  socket.destroy();
  await eventually(() => readdir(made.root.path)).toEqual(["d", "empty", "file"]);
});

test("uploads are limited, with a clear answer, and nothing is left of one that is too large", async () => {
  const small = await startTestRuntime(made.root.path, "--max-upload", "1000");
  onTestFinished(() => small.stop());
  const tooLarge = await send(small.restPort, "PUT", "/v1/files/large", { body: "x".repeat(1001) });
  expect([tooLarge.status, JSON.parse(tooLarge.text).code]).toEqual([413, "RESOURCE_EXHAUSTED"]);
  expect((await send(small.restPort, "PUT", "/v1/files/fits", { body: "x".repeat(1000) })).status).toBe(204);
  expect(await readdir(made.root.path)).toEqual(["d", "empty", "file", "fits"]);
});

test("health and metadata", async () => {
  const health = await ask("GET", "/v1/health");
  expect([health.status, JSON.parse(health.text)]).toEqual([200, { status: "ok", uptime_seconds: expect.any(Number) }]);
  expect(JSON.parse((await ask("GET", "/v1/metadata")).text)).toHaveProperty("env");
  const none = await ask("GET", "/v1/none");
  expect([none.status, JSON.parse(none.text).code]).toEqual([404, "NOT_FOUND"]);
});

test("an absolute path is relative to the root, unless it names the root itself", async () => {
  const absolute = encodeURIComponent(made.at("file"));
  expect((await ask("GET", `/v1/files/${absolute}`)).text).toBe("0123456789");
  expect((await ask("GET", "/v1/files/%2Fd%2Fsub%2Ff")).text).toBe("deep");
  expect((await ask("GET", "/v1/files/%2Fetc%2Fpasswd")).status).toBe(404);
  expect((await ask("PUT", "/v1/files/%2Fetc%2Fnew", { body: "here" })).status).toBe(204);
  expect(await readFile(made.at("etc/new"), "utf8")).toBe("here");
});
