/** What single tools make of what happens, as a model reads it. @module */
import { existsSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTempFolder } from "../../tempfolder.ts";
import { eventually, until } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { type Agent, makeAgent, makeStage, resultOf, type Stage, textOf } from "./stage.ts";

let stage: Stage;
let agent: Agent;
const sandbox = "job";

beforeEach(async () => {
  stage = await makeStage({ "text.txt": "äöü", "binary": "\0\u0001" });
  agent = await makeAgent(stage);
  await agent.call("create_sandbox", { name: sandbox });
});

/** The bytes of the smallest PNG there is, more or less. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("execute_command leaves out the middle of long output", async () => {
  const command = "seq 1 20000; echo end";
  const ran = await agent.call("execute_command", { sandbox, command, maxOutput: 100 });
  expect(resultOf(ran)).toMatchObject({ exitCode: 0, truncated: true });
  expect(textOf(ran)).toMatch(
    /^exit code 0\n--- stdout\n1\n2\n3\n[^]{40,60}\[… 108798 characters left out here\. To read all of it, redirect the output to a file \(COMMAND >\/tmp\/output\.txt 2>&1\) and use read_file\. …\]\n[^]*\nend$/,
  );
});

test("execute_command passes folder, environment and input on", async () => {
  await agent.call("write_file", { sandbox, path: "sub/a", content: "" });
  const ran = await agent.call("execute_command", {
    sandbox,
    command: 'ls; echo "$A"; cat',
    cwd: "sub",
    env: { A: "1" },
    stdin: "in",
  });
  expect(textOf(ran)).toBe("exit code 0\n--- stdout\na\n1\nin");
});

test("execute_command says what was printed before its time was up", async () => {
  const pass = holdTimers();
  const running = agent.call("execute_command", {
    sandbox,
    command: "echo begun; touch begun; sleep 60",
    timeoutMs: 500,
  });
  await until(() => existsSync(stage.at("begun")));
  pass(500);
  const ran = await running;
  expect(ran.isError).toBe(true);
  expect(resultOf(ran)).toMatchObject({ exitCode: -1, timedOut: true });
  expect(textOf(ran)).toBe("killed after 500 ms (timeoutMs): raise timeoutMs, or use start_command\n--- stdout\nbegun");
});

test("list_files lists so many entries at most, and says how many it leaves out", async () => {
  await agent.call("execute_command", { sandbox, command: "mkdir many; cd many; touch $(seq 100 349)" });
  const listed = await agent.call("list_files", { sandbox, path: "many" });
  expect(textOf(listed).split("\n")).toHaveLength(201);
  expect(resultOf(listed)).toMatchObject({ truncated: true });
  expect(textOf(listed)).toMatch(/\n\[50 more entries: raise maxEntries, or list a folder further down\]$/);
  const few = await agent.call("list_files", { sandbox, path: "many", maxEntries: 2 });
  expect(textOf(few)).toBe(
    "many/100  0\nmany/101  0\n[248 more entries: raise maxEntries, or list a folder further down]",
  );
  const all = await agent.call("list_files", { sandbox, path: "many", maxEntries: 1000 });
  expect(resultOf(all)).toEqual({ path: "many", truncated: false });
});

test("list_files ends where the names are long together", async () => {
  const command = "mkdir long; cd long; seq -f '%0240.0f' 500 | xargs touch";
  await agent.call("execute_command", { sandbox, command });
  const listed = await agent.call("list_files", { sandbox, path: "long", maxEntries: 1000 });
  expect(resultOf(listed)).toMatchObject({ truncated: true });
  expect(textOf(listed).length).toBeLessThan(60_000);
  expect(textOf(listed)).toMatch(/\n\[\d+ more entries: list a folder further down\]$/);
});

test("a call that is cancelled ends its command", async () => {
  const leaving = new AbortController();
  const command = "echo $$ >pid; sleep 60";
  const running = agent.call("execute_command", { sandbox, command }, { signal: leaving.signal });
  await eventually(() => readFile(stage.at("pid"), "utf8").catch(() => "")).toMatch(/\d/);
  leaving.abort();
  await expect(running).rejects.toThrow();
  const look = { sandbox, command: 'kill -0 "$(cat pid)"' };
  await eventually(async () => resultOf(await agent.call("execute_command", look))["exitCode"]).toBe(1);
});

test("start_command goes on, stop_command ends it", async () => {
  const started = await agent.call("start_command", { sandbox, command: "echo $$ >pid; exec sleep 60" });
  const processId = started.structuredContent?.["processId"];
  await eventually(() => readFile(stage.at("pid"), "utf8").catch(() => "")).toMatch(/\d/);
  const stop = { sandbox, processId };
  expect((await agent.call("stop_command", stop)).structuredContent).toEqual({ stopped: true });
  await eventually(async () => (await agent.call("stop_command", stop)).structuredContent?.["stopped"]).toBe(false);
});

test("run_code keeps state, shows results, images as images, and an exception as a result", async () => {
  await agent.call("run_code", { sandbox, code: "x = 20" });
  const value = await agent.call("run_code", { sandbox, code: "print('out')\nx + 1" });
  expect(resultOf(value)).toMatchObject({ timedOut: false });
  expect(textOf(value)).toBe("--- stdout\nout\n21");
  const code = `import base64
class Image:
    def _repr_png_(self): return base64.b64decode("${PNG}")
display(Image())`;
  const image = await agent.call("run_code", { sandbox, code });
  expect(image.content).toEqual([{ type: "image", mimeType: "image/png", data: PNG }]);
  const failed = await agent.call("run_code", { sandbox, code: "1 / 0" });
  expect(failed.isError).toBeUndefined();
  expect(resultOf(failed)).toMatchObject({ error: { name: "ZeroDivisionError" } });
  expect(textOf(failed)).toMatch(/ZeroDivisionError: division by zero/);
});

test("run_code has a new interpreter where one has died, or where it is asked for", async () => {
  const died = await agent.call("run_code", { sandbox, code: "x = 1; import os; os._exit(3)" });
  expect(resultOf(died)).toMatchObject({ error: { name: "KernelDied" }, interpreterEnded: true });
  expect(textOf(died)).toBe(
    "KernelDied: The interpreter ended (exit code 3)\n" +
      "All variables, imports and functions are lost. The next call starts a new interpreter.",
  );
  const next = await agent.call("run_code", { sandbox, code: "x = 2; 'new'" });
  expect(textOf(next)).toMatch(/^--- stderr\n.*interpreter had ended \(exit code 3\).*\n'new'$/);
  const restarted = await agent.call("run_code", { sandbox, code: "'x' in globals()", restart: true });
  expect(textOf(restarted)).toBe("False");
});

test("read_file goes on where it was, and cuts no character in two", async () => {
  const first = await agent.call("read_file", { sandbox, path: "text.txt", maxBytes: 5 });
  expect(resultOf(first)).toEqual({ nextOffset: 4 });
  expect(textOf(first)).toBe(
    "äö\n[The file goes on: these are bytes 0 to 4, and the file has 6. Go on with offset 4.]",
  );
  const last = await agent.call("read_file", { sandbox, path: "text.txt", maxBytes: 5, offset: 4 });
  expect([textOf(last), resultOf(last)]).toEqual(["ü", {}]);
});

test.for<[string, string, object, RegExp]>([
  ["a file that is not there", "read_file", { path: "none" }, /^Cannot read "none": .*not/],
  [
    "a binary file",
    "read_file",
    { path: "binary" },
    /^Cannot read "binary" as text: it is not UTF-8\. Use download_file for an image, or /,
  ],
  ["a path that leads out", "read_file", { path: "../secret" }, /^Cannot read "\.\.\/secret"/],
  ["a folder that is not there", "list_files", { path: "none" }, /^Cannot list "none"/],
  ["a parameter that there is not", "read_file", { path: "text.txt", lines: 3 }, /"lines"/],
  ["no content", "upload_file", { path: "a" }, /^Cannot upload a file: content is needed\.$/],
  ["what is no base64", "upload_file", { path: "a", content: "ä" }, /base64/],
  [
    "no router that signs",
    "get_url",
    { port: 80, signedForMs: 1000 },
    /^Cannot make a URL of port 80: the server is not set up for this\. In the sandbox, use http:/,
  ],
])("%s: %s says so", async ([, name, input, message]) => {
  const failed = await agent.call(name, { sandbox, ...input });
  expect(failed.isError).toBe(true);
  expect(textOf(failed)).toMatch(message);
  expect(textOf(failed)).not.toMatch(/\bat .*\.ts:\d/);
});

test("file_exists tells of files, folders and nothing", async () => {
  const exists = async (path: string) => (await agent.call("file_exists", { sandbox, path })).structuredContent;
  expect(await exists("text.txt")).toEqual({ exists: true, path: "text.txt", type: "file", size: 6 });
  expect(await exists("none")).toEqual({ exists: false });
});

test("binary files go up and come down in base64, images as images", async () => {
  await agent.call("upload_file", { sandbox, path: "a.png", content: PNG });
  const image = await agent.call("download_file", { sandbox, path: "a.png" });
  expect(image.content).toEqual([{ type: "image", mimeType: "image/png", data: PNG }]);
  const other = await agent.call("download_file", { sandbox, path: "binary" });
  expect(resultOf(other)).toEqual({ path: "binary", bytes: 2, files: 1 });
  expect(other.content).toMatchObject([{ type: "resource", resource: { uri: "sandbox://job/binary", blob: "AAE=" } }]);
});

test("files of the user's machine are copied below one folder, and nowhere else", async () => {
  const around = makeTempFolder();
  await writeFile(join(around, "mine.txt"), "mine");
  await symlink("/etc", join(around, "out"));
  const { call } = await makeAgent(stage, {
    localRoot: around,
    selector: { "agents.x-k8s.io/created-by": "typescript-client" },
  });
  const up = await call("upload_file", { sandbox, path: "up.txt", localPath: "mine.txt" });
  expect(textOf(up)).toBe("Wrote 4 bytes to up.txt.");
  await call("download_file", { sandbox, path: "text.txt", localPath: join(around, "down.txt") });
  expect(await readFile(join(around, "down.txt"), "utf8")).toBe("äöü");
  for (const localPath of ["../secret", "/etc/passwd", "out/passwd"]) {
    expect(textOf(await call("upload_file", { sandbox, path: "x", localPath }))).toMatch(/it is outside of /);
    expect(textOf(await call("download_file", { sandbox, path: "text.txt", localPath }))).toMatch(/it is outside of /);
  }
  await symlink("/tmp/elsewhere", join(around, "link"));
  expect(textOf(await call("download_file", { sandbox, path: "text.txt", localPath: "link" }))).toMatch(
    /a symlink is there/,
  );
});

test("without a folder the tools do not know of the user's machine", async () => {
  const failed = await agent.call("upload_file", { sandbox, path: "x", localPath: "/etc/passwd" });
  expect(textOf(failed)).toMatch(/localPath/);
  expect(failed.isError).toBe(true);
});

test("get_url gives the router's address of a port", async () => {
  const { structuredContent } = await agent.call("get_url", { sandbox, port: 3000 });
  const { sandbox: { name } } = stage.cluster.get("SandboxClaim", sandbox)?.status;
  expect(structuredContent?.["url"]).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/s/default/${name}/3000$`));
});
