/** Port 8080 beyond the published protocol: stat, folders, rename, tar, watch, disk. @module */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { send, type Sent, startTestRuntime } from "../servers.ts";
import { eventually } from "../../eventually.ts";

let made: TestRoot;
let runtime: Runtime;

beforeEach(async () => {
  made = await makeRoot({ "file": "content", "d/sub/f": "deep" });
  runtime = await startTestRuntime(made.root.path);
  return () => runtime.stop();
});

const ask = (method: string, path: string, sent?: Sent) => send(runtime.restPort, method, path, sent);
const json = (value: unknown): Sent => ({ body: JSON.stringify(value) });

test("stat describes a file, and a symlink itself", async () => {
  await symlink("d/sub", made.at("link"));
  expect(JSON.parse((await ask("GET", "/v1/stat/file")).text)).toMatchObject({ path: "file", type: "file", size: 7 });
  expect(JSON.parse((await ask("GET", "/v1/stat/link")).text)).toMatchObject({ type: "symlink", target: "d/sub" });
  expect((await ask("GET", "/v1/stat/none")).status).toBe(404);
});

test("folders are made once, with their parents", async () => {
  expect((await ask("PUT", "/v1/folders/a%2Fb?mode=0700")).status).toBe(201);
  expect((await ask("PUT", "/v1/folders/a%2Fb")).status).toBe(200);
  for (const path of ["file", "file%2Fg"]) expect((await ask("PUT", `/v1/folders/${path}`)).status).toBe(409);
});

test("rename moves, and replaces only if asked", async () => {
  expect((await ask("POST", "/v1/rename", json({ from: "file", to: "new/name" }))).status).toBe(204);
  expect(await readFile(made.at("new/name"), "utf8")).toBe("content");
  expect((await ask("POST", "/v1/rename", json({ from: "d/sub/f", to: "new/name" }))).status).toBe(409);
  expect((await ask("POST", "/v1/rename", json({ from: "d/sub/f", to: "new/name", replace: true }))).status).toBe(204);
  expect((await ask("POST", "/v1/rename", json({ from: "none", to: "x" }))).status).toBe(404);
  for (const body of ["", "{", "[]", '{"from": 1, "to": "x"}', '{"from": "d"}', '{"from": "d", "to": "x", "y": 1}']) {
    const refused = await ask("POST", "/v1/rename", { body });
    expect([body, refused.status]).toEqual([body, 400]);
  }
});

test.for([["", "-x"], ["?gzip=true", "-xz"]] as const)("a tar goes down and up again%s", async ([query, flags]) => {
  const down = await ask("GET", `/v1/archive/d${query}`);
  expect(down.status).toBe(200);
  expect(execFileSync("tar", [flags, "-O", "-f", "-"], { input: down.body, encoding: "utf8" })).toBe("deep");
  const up = await ask("PUT", `/v1/archive/up%2Fhere${query}`, { body: down.body });
  expect([up.status, JSON.parse(up.text)]).toEqual([200, { files: 1, directories: 1, links: 0, bytes: 4 }]);
  expect(await readFile(made.at("up/here/sub/f"), "utf8")).toBe("deep");
  const head = await ask("HEAD", `/v1/archive/d${query}`);
  expect([head.status, head.headers["content-type"]]).toEqual([200, down.headers["content-type"]]);
  expect((await ask("GET", `/v1/archive/none${query}`)).status).toBe(404);
});

test("a tar that is none is refused", async () => {
  const refused = await ask("PUT", "/v1/archive/up", { body: "x".repeat(2000) });
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([400, "INVALID_ARGUMENT"]);
});

test.for([
  { name: "a tar that is none", path: "/v1/archive/up", status: 400 },
  { name: "a compressed tar that is none", path: "/v1/archive/up?gzip=true", status: 400 },
  { name: "a file at the place of a folder", path: "/v1/files/d", status: 400 },
  { name: "a file that is too large", path: "/v1/files/large", status: 413 },
  {
    name: "a form that is none",
    path: "/v1/files/form",
    status: 400,
    headers: "Content-Type: multipart/form-data; boundary=B\r\n",
  },
])(
  "a client that sends all before it reads hears that it is refused: $name",
  async ({ path, status, headers = "" }) => {
    const small = await startTestRuntime(made.root.path, "--max-upload", "1Mi");
    onTestFinished(() => small.stop());
    const body = Buffer.alloc(16_000_000, "x");
    const socket = connect(small.restPort, "127.0.0.1").pause();
    onTestFinished(() => void socket.destroy());
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    await eventually(() => socket.writableLength).toBe(0);
    let answer = "";
    socket.setEncoding("utf8").on("data", (part) => answer += part).resume();
    await eventually(() => answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);

test("a tar breaks off when its reader leaves, and closes all files", async () => {
  await writeFile(made.at("d/large"), "x".repeat(5_000_000));
  const opened = (await readdir("/proc/self/fd")).length;
  await ask("GET", "/v1/archive/d", { upTo: 100_000 });
  await eventually(async () => (await readdir("/proc/self/fd")).length).toBeLessThanOrEqual(opened + 1);
});

/** Reads a watch until it has said `until`. */
async function watched(path: string, headers: Record<string, string>, until: string, onReady: () => Promise<unknown>) {
  return await new Promise<{ text: string; type: string | undefined }>((resolve, reject) => {
    const asked = get({ host: "127.0.0.1", port: runtime.restPort, path, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        if (text === "") onReady().catch(reject);
        text += part;
        if (!text.includes(until)) return;
        resolve({ text, type: answer.headers["content-type"] });
        asked.destroy();
      });
      answer.on("end", () => resolve({ text, type: answer.headers["content-type"] }));
    });
    asked.on("error", reject);
  });
}

test("watch gives JSON lines", async () => {
  const write = () => writeFile(made.at("d/sub/new"), "");
  const { text, type } = await watched("/v1/watch/d?recursive=true", {}, '"sub/new"', write);
  expect(type).toBe("application/x-ndjson");
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  expect(lines.slice(0, 2)).toEqual([{ type: "ready" }, { type: "created", path: "sub/new", kind: "file" }]);
});

test("watch gives server-sent events where they are accepted, and ends when the runtime stops", async () => {
  const headers = { Accept: "text/event-stream" };
  const { text, type } = await watched("/v1/watch/", headers, "never", () => runtime.stop());
  expect(type).toBe("text/event-stream");
  expect(text).toBe('event: ready\ndata: {"type":"ready"}\n\n');
});

test("disk says how full it is", async () => {
  const disk = JSON.parse((await ask("GET", "/v1/disk")).text);
  expect(disk).toEqual({
    total_bytes: expect.any(Number),
    used_bytes: expect.any(Number),
    available_bytes: expect.any(Number),
    total_files: expect.any(Number),
    free_files: expect.any(Number),
  });
});
