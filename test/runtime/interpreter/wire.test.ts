/** E2B's code interpreter protocol as bytes: lines, headers, statuses, and clients that go away. @module */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually, settled } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { send, startTestRuntime } from "../servers.ts";
import { NOBODY, startWithUsers } from "../usersruntime.ts";
import { anInterpreter, readUntil, textsOf } from "./interpreting.ts";

test("a run is lines of JSON in ASCII: its number, output with the time, results and the end", async () => {
  const { post, run } = await anInterpreter();
  const before = Date.now();
  const answer = await post("/execute", {
    code: "print('ü😀'); 'quoted'",
    context_id: null,
    language: null,
    env_vars: null,
  });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
  const text = await answer.text();
  expect(text).toMatch(/^[\x20-\x7e\n]*\n$/);
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  expect(lines).toEqual([
    { type: "number_of_executions", execution_count: 1 },
    { type: "stdout", text: "ü😀\n", timestamp: expect.any(Number) },
    { type: "result", text: "quoted", is_main_result: true },
    { type: "end_of_execution" },
  ]);
  expect(lines[1].timestamp).toBeGreaterThanOrEqual(before * 1e6);
  expect(lines[1].timestamp).toBeLessThanOrEqual(Date.now() * 1e6);
  expect((await run("1/0")).slice(0, 2)).toEqual([
    { type: "number_of_executions", execution_count: 2 },
    {
      type: "error",
      name: "ZeroDivisionError",
      value: "division by zero",
      traceback: expect.stringContaining("Traceback (most recent call last):\n"),
    },
  ]);
});

test("answers what is wrong in plain text, and takes doubled slashes", async () => {
  const { runtime, post, url } = await anInterpreter();
  const health = await fetch(`${url}//health`);
  expect([health.status, await health.text()]).toEqual([200, "OK"]);
  const cases: [string, unknown, number, string][] = [
    ["/execute", { code: "1", context_id: "x" }, 404, "Context x not found"],
    ["//execute", { code: "1", context_id: "x", language: "python" }, 400, "Only one of context_id or language"],
    ["/execute", { code: "1", language: "cobol" }, 500, 'Cannot run "cobol": the languages are python, javascript'],
    ["/execute", { code: 1 }, 422, "Cannot read the body: code: "],
    ["/execute", { code: "1", env_vars: { "a=b": "c" } }, 422, "env_vars.a=b: "],
    ["/contexts", { language: "cobol" }, 500, 'Cannot run "cobol"'],
    ["/contexts", { cwd: "/not/there" }, 400, "/not/there"],
    ["/contexts/x/restart", {}, 404, "Context x not found"],
    ["/nothing", {}, 404, "no such endpoint"],
  ];
  for (const [path, body, status, text] of cases) {
    const answer = await post(path, body);
    expect([answer.status, await answer.text(), answer.headers.get("content-type")], path).toEqual([
      status,
      expect.stringContaining(text),
      "text/plain; charset=utf-8",
    ]);
  }
  const broken = await send(runtime.interpreterPort!, "POST", "/execute", { body: "{" });
  expect([broken.status, broken.text]).toEqual([422, "Cannot read the body: it is not JSON"]);
  expect((await fetch(`${url}/contexts/x`, { method: "DELETE" })).status).toBe(404);
  const large = await post("/execute", { code: "#".repeat(16 << 20) });
  expect([large.status, await large.text()]).toEqual([413, "Cannot read the body: it has more than 16777216 bytes"]);
});

test("the head of the response comes before the code has done anything, and silence is filled with keepalives", async () => {
  const { post, workdir } = await anInterpreter();
  const file = join(workdir, "go");
  const code = `import os, time\nwhile not os.path.exists(${JSON.stringify(file)}): time.sleep(0.01)\n'done'`;
  const answer = await post("/execute", { code });
  const lines = await readUntil(answer, "keepalive");
  expect(lines).toEqual([{ type: "number_of_executions", execution_count: 1 }, { type: "keepalive" }]);
  writeFileSync(file, "");
  expect((await readUntil(answer, "end_of_execution")).filter(({ type }) => type !== "keepalive")).toEqual([
    { type: "result", text: "done", is_main_result: true },
    { type: "end_of_execution" },
  ]);
});

test("a client that goes away interrupts the code, and the next code runs with the same variables", async () => {
  const { post, run, workdir } = await anInterpreter();
  const file = join(workdir, "interrupted");
  const code = `x = 5
try:
    print("begun", flush=True)
    while True: x = 5
except KeyboardInterrupt:
    open(${JSON.stringify(file)}, "w")`;
  const leaving = new AbortController();
  const answer = await post("/execute", { code }, { signal: leaving.signal });
  expect(textsOf(await readUntil(answer, "stdout"), "stdout")).toEqual(["begun\n"]);
  leaving.abort();
  await eventually(() => existsSync(file)).toBe(true);
  expect(await run("x")).toContainEqual({ type: "result", text: "5", is_main_result: true });
});

test("a client that does not read holds the code up, and gets everything in the end", async () => {
  const { post, workdir } = await anInterpreter();
  const progress = join(workdir, "progress");
  writeFileSync(progress, "");
  const code = `progress = open(${JSON.stringify(progress)}, "a", buffering=1)
for _ in range(64):
    print("x" * (1 << 20), flush=True)
    print(end="-", file=progress, flush=True)`;
  const answer = await post("/execute", { code });
  expect(await settled(() => readFileSync(progress, "utf8").length)).toBeLessThan(60);
  let characters = 0;
  for await (const part of answer.body!) characters += part.length;
  expect(characters).toBeGreaterThan(64 << 20);
  expect(readFileSync(progress, "utf8").length).toBe(64);
});

test("running code counts as activity, and a request does", async () => {
  const { post, runtime, workdir } = await anInterpreter();
  const activity = async (): Promise<object> => JSON.parse((await send(runtime.restPort, "GET", "/v1/activity")).text);
  const file = join(workdir, "go");
  const code = `import os, time\nwhile not os.path.exists(${JSON.stringify(file)}): time.sleep(0.01)`;
  const answer = await post("/execute", { code });
  await eventually(activity).toMatchObject({ running: 1, idleSeconds: 0 });
  writeFileSync(file, "");
  await answer.text();
  await eventually(activity).toMatchObject({ running: 0 });
});

test("in a confined root, contexts run in the root", async () => {
  const root = makeTempFolder();
  mkdirSync(join(root, "sub"));
  const runtime = await startTestRuntime(root);
  onTestFinished(() => runtime.stop());
  const create = async (cwd?: string) => {
    const body = JSON.stringify({ language: "bash", cwd });
    const { status, text } = await send(runtime.interpreterPort!, "POST", "/contexts", { body });
    return status === 200 ? JSON.parse(text).cwd : status;
  };
  expect([await create(), await create("sub"), await create("/sub"), await create("../other")])
    .toEqual([root, join(root, "sub"), join(root, "sub"), 400]);
});

test("a client that goes away interrupts the code of another user, too", async () => {
  const sandbox = await startWithUsers(...NOBODY);
  if (!sandbox) return;
  const { interpreterPort, workdir } = sandbox;
  const file = join(workdir, "interrupted");
  const code = `try:
    print("begun", flush=True)
    while True: x = 5
except KeyboardInterrupt:
    open(${JSON.stringify(file)}, "w")`;
  const leaving = new AbortController();
  const answer = await fetch(`http://127.0.0.1:${interpreterPort}/execute`, {
    method: "POST",
    body: JSON.stringify({ code }),
    signal: leaving.signal,
  });
  expect(textsOf(await readUntil(answer, "stdout"), "stdout")).toEqual(["begun\n"]);
  leaving.abort();
  await eventually(() => existsSync(file)).toBe(true);
});

test("off is no port", async () => {
  const { runtime } = await anInterpreter("--interpreter-port", "off");
  expect(runtime.interpreterPort).toBeUndefined();
  expect((await send(runtime.restPort, "GET", "/v1/health")).status).toBe(200);
});
