/** Port 8888: the published Python runtime's protocol, request by request, on a real socket. @module */
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { readFile, stat, symlink, writeFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { eventually, until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { makeRoot, type TestRoot } from "../folders.ts";
import { formOf, send, type Sent, startTestRuntime } from "../servers.ts";

let made: TestRoot;
let runtime: Runtime;

beforeEach(async () => {
  made = await makeRoot({ "file": "0123456789", "d/f": "deep" });
  runtime = await startTestRuntime(made.root.path, "--exec-timeout", "20s", "--max-output", "1000");
  return () => runtime.stop();
});

const ask = (method: string, path: string, sent?: Sent) => send(runtime.port, method, path, sent);

async function execute(body: unknown): Promise<Record<string, unknown>> {
  const { status, text } = await ask("POST", "/execute", { body: JSON.stringify(body) });
  expect(status).toBe(200);
  return JSON.parse(text);
}

test("GET / says that it is there", async () => {
  const { status, text } = await ask("GET", "/");
  expect([status, JSON.parse(text)]).toEqual([200, { status: "ok", message: "Sandbox Runtime is active." }]);
  expect((await ask("HEAD", "/")).status).toBe(200);
});

test("execute runs in the root and answers exactly three fields", async () => {
  const cwd = { stdout: `${made.root.path}\n`, stderr: "", exit_code: 0 };
  expect(await execute({ command: "pwd" })).toEqual(cwd);
  expect(await execute({ command: `sh -c 'echo "out put"; echo err >&2; exit 3'` }))
    .toEqual({ stdout: "out put\n", stderr: "err\n", exit_code: 3 });
});

test.for(["echo $HOME | cat > x && true; `id`", "echo *"])("execute knows no shell: %s", async (command) => {
  expect(await execute({ command })).toEqual({ stdout: `${command.slice(5)}\n`, stderr: "", exit_code: 0 });
});

test.for(["nothing-of-that-name x", "", "'unclosed", "./file", "."])("execute says why %j failed", async (command) => {
  const answer = await execute({ command });
  expect(answer).toEqual({ stdout: "", stderr: expect.stringMatching(/^Failed to execute command: ./), exit_code: 1 });
});

const begun = () => until(() => existsSync(made.at("begun")));

test("execute stops at the runtime's limit, with everything that was started", async () => {
  const pass = holdTimers();
  const running = execute({ command: "sh -c 'echo begun; sleep 61.5 & touch begun; sleep 61.5'" });
  await begun();
  pass(20_000);
  const answer = await running;
  const stderr = "Failed to execute command: timed out after 20 seconds";
  expect(answer).toEqual({ stdout: "begun\n", stderr, exit_code: 1, timed_out: true });
  await eventually(async () => (await execute({ command: "pgrep -f 'sleep 61.5'" }))["exit_code"]).toBe(1);
});

test("execute takes a limit from the request, above and below the runtime's", async () => {
  expect(await execute({ command: "sleep 60", timeout_seconds: 0.2 })).toMatchObject({ timed_out: true, exit_code: 1 });
  expect(await execute({ command: "true", timeout_seconds: null, more: 1 })).toMatchObject({ exit_code: 0 });
  const pass = holdTimers();
  const waiting = "sh -c 'touch begun; until [ -e go ]; do sleep 0.02; done'";
  const running = execute({ command: waiting, timeout_seconds: 30 });
  await begun();
  pass(29_000);
  await writeFile(made.at("go"), "");
  expect(await running).toEqual({ stdout: "", stderr: "", exit_code: 0 });
});

test("execute keeps so much output and says that there was more", async () => {
  const answer = await execute({ command: "head -c 5000 /dev/zero" });
  expect(answer).toMatchObject({ exit_code: 0, truncated: true });
  expect((answer["stdout"] as string).length).toBe(1000);
});

test.for<[string, string, object]>([
  ["", "missing", { loc: ["body"], msg: "Field required" }],
  ["{", "json_invalid", { msg: "JSON decode error" }],
  ["[]", "model_attributes_type", { loc: ["body"], input: [] }],
  ["{}", "missing", { loc: ["body", "command"], msg: "Field required", input: {} }],
  ['{"command": 1}', "string_type", { loc: ["body", "command"], msg: "Input should be a valid string", input: 1 }],
  ['{"command": null}', "string_type", { loc: ["body", "command"], input: null }],
  ['{"command": "ls", "timeout_seconds": "x"}', "float_parsing", { loc: ["body", "timeout_seconds"], input: "x" }],
  ['{"command": "ls", "timeout_seconds": []}', "float_type", { loc: ["body", "timeout_seconds"] }],
  ['{"command": "ls", "timeout_seconds": 0}', "greater_than", { ctx: { gt: 0 } }],
])("execute answers 422 to %j as FastAPI does: %s", async ([body, type, issue]) => {
  const { status, text } = await ask("POST", "/execute", { body });
  expect([status, JSON.parse(text)]).toMatchObject([422, { detail: [{ type, ...issue }] }]);
});

test("upload stores a file under its name, folders included", async () => {
  const { status, text } = await ask(
    "POST",
    "/upload",
    formOf("new/folder/ünï code.bin", Buffer.from([0, 255, 13, 10, 45, 45])),
  );
  expect([status, JSON.parse(text)]).toEqual([200, { message: expect.stringContaining("uploaded successfully") }]);
  expect([...await readFile(made.at("new/folder/ünï code.bin"))]).toEqual([0, 255, 13, 10, 45, 45]);
  expect((await stat(made.at("new/folder/ünï code.bin"))).mode & 0o777).toBe(0o644);
});

test("upload takes chunks without a length, and keeps blanks in names", async () => {
  const form = formOf(" name with blanks ", "x".repeat(200_000));
  const chunked = { ...form, headers: { ...form.headers, "Transfer-Encoding": "chunked" } };
  expect((await ask("POST", "/upload", chunked)).status).toBe(200);
  expect((await stat(made.at(" name with blanks "))).size).toBe(200_000);
});

test.for(
  [
    ["../x", 403, { message: "Access denied" }],
    ["/etc/x", 403, { message: "Access denied" }],
    ["d", 400, { message: expect.stringContaining("it is a folder") }],
  ] as const,
)("upload of %s answers %i", async ([name, status, body]) => {
  const got = await ask("POST", "/upload", formOf(name, "x"));
  expect([got.status, JSON.parse(got.text)]).toEqual([status, body]);
});

test("upload without a file answers 422", async () => {
  const bodies: Sent[] = [formOf("x", "y", "other"), { body: "no form" }, {}, { headers: formOf("x", "y").headers }];
  for (const sent of bodies) {
    const { status, text } = await ask("POST", "/upload", sent);
    expect([status, JSON.parse(text)]).toMatchObject([422, { detail: [{ type: "missing", loc: ["body", "file"] }] }]);
  }
});

test("download gives bytes, ranges and HEAD", async () => {
  const got = await ask("GET", "/download/d%2Ff");
  expect([got.status, got.text, got.headers["content-length"]]).toEqual([200, "deep", "4"]);
  expect(got.headers["content-type"]).toBe("application/octet-stream");
  expect((await ask("GET", "/download/d/f")).text).toBe("deep");
  expect((await ask("GET", "/download/file", { headers: { Range: "bytes=8-" } })).text).toBe("89");
  const head = await ask("HEAD", "/download/file");
  expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", "10"]);
});

test("list describes what is there", async () => {
  await symlink("file", made.at("link"));
  await symlink("nothing", made.at("dangling"));
  await symlink("../secret", made.at("out"));
  const entry = { size: expect.any(Number), mod_time: expect.any(Number) };
  const want = [
    { name: "d", type: "directory", ...entry },
    { name: "file", type: "file", ...entry, size: 10 },
    { name: "link", type: "file", ...entry, size: 10 },
  ];
  for (const path of ["/list/", "/list", "/list/.", "/list/%2F", "/list/d%2F.."]) {
    const { status, text } = await ask("GET", path);
    expect([path, status, JSON.parse(text)]).toEqual([path, 200, want]);
  }
});

test("exists says yes or no", async () => {
  expect(JSON.parse((await ask("GET", "/exists/d%2Ff")).text)).toEqual({ path: "d/f", exists: true });
  expect(JSON.parse((await ask("GET", "/exists/d%2Fg")).text)).toEqual({ path: "d/g", exists: false });
  expect(JSON.parse((await ask("GET", "/exists/file%2Fg")).text)).toEqual({ path: "file/g", exists: false });
});

test("what was written without a leading slash is found with one, as the published client asks for it", async () => {
  expect(JSON.parse((await ask("GET", "/exists/%2Fd%2Ff")).text)).toEqual({ path: "/d/f", exists: true });
  expect(JSON.parse((await ask("GET", "/exists/%2Fetc%2Fpasswd")).text)).toEqual({
    path: "/etc/passwd",
    exists: false,
  });
  expect((await ask("GET", "/download/%2Fd%2Ff")).text).toBe("deep");
  expect(JSON.parse((await ask("GET", "/list/%2Fd")).text)).toMatchObject([{ name: "f" }]);
});

test.for(
  [
    ["GET", "/download/none", 404, { message: "File not found" }],
    ["GET", "/download/d", 404, { message: "File not found" }],
    ["GET", "/download/..%2Fsecret", 403, { message: "Access denied" }],
    ["GET", "/download/%2Fetc%2Fpasswd", 403, { message: "Access denied" }],
    ["GET", "/list/none", 404, { message: "Path is not a directory" }],
    ["GET", "/list/file", 404, { message: "Path is not a directory" }],
    ["GET", "/list/..", 403, { message: "Access denied" }],
    ["GET", "/exists/..%2Fsecret", 403, { message: "Access denied" }],
    ["GET", "/nothing", 404, { detail: "Not Found" }],
    ["GET", "/execute", 405, { detail: "Method Not Allowed" }],
    ["DELETE", "/download/file", 405, { detail: "Method Not Allowed" }],
  ] as const,
)("%s %s answers %i", async ([method, path, status, body]) => {
  const got = await ask(method, path);
  expect([got.status, JSON.parse(got.text)]).toEqual([status, body]);
});
