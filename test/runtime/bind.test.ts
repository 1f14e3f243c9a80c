/** Late binding: env and files into a running sandbox, for clients with the token, and nobody else. @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { variable } from "../../packages/process/runprocess.ts";
import { readOptions } from "../../packages/runtime/options.ts";
import { type Runtime, startRuntime } from "../../packages/runtime/start.ts";
import { makeRoot, type TestRoot } from "./folders.ts";
import { until } from "../eventually.ts";
import { send, startTestRuntime } from "./servers.ts";
import { FREE_PORTS } from "./freeports.ts";

const TOKEN = "correct-horse";
const SECRET = "s3cr3t-value";

/** A runtime with a mounted token, which says what it logs. */
async function start(made: TestRoot, ...args: string[]) {
  await writeFile(`${made.around}/token`, `${TOKEN}\n`);
  const ports = [...FREE_PORTS, "--host", "127.0.0.1"];
  const flags = [...ports, "--root", made.root.path, "--token-file", `${made.around}/token`, ...args];
  const lines: string[] = [];
  const runtime = await startRuntime(readOptions(flags, variable)!, (...line) => lines.push(JSON.stringify(line)));
  onTestFinished(() => runtime.stop());
  return { runtime, lines };
}

async function ask(runtime: Runtime, method: string, body?: unknown, token: string | undefined = TOKEN, query = "") {
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  const sent = { headers, ...body === undefined ? {} : { body: JSON.stringify(body) } };
  const { status, text } = await send(runtime.restPort, method, `/v1/bind${query}`, sent);
  return { status, text, body: text === "" ? undefined : JSON.parse(text) };
}

async function run(runtime: Runtime, command: string): Promise<string> {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const { text } = await send(runtime.port, "POST", "/execute", { headers, body: JSON.stringify({ command }) });
  return JSON.parse(text).stdout;
}

const sha256 = (data: string) => createHash("sha256").update(data).digest("hex");

test("env and files arrive, and the answer says by name and digest what did", async () => {
  const made = await makeRoot();
  const { runtime, lines } = await start(made);
  expect(await run(runtime, "printenv API_KEY")).toBe("");
  const delivery = {
    env: { API_KEY: SECRET, "app.name": "x" },
    files: [
      { path: "etc/key", content: SECRET },
      { path: "etc/bin", content_base64: Buffer.from([0, 255]).toString("base64"), mode: "0640" },
    ],
  };
  const { status, body } = await ask(runtime, "POST", delivery);
  const files = [["etc/bin", "0640", createHash("sha256").update(Buffer.from([0, 255])).digest("hex")], [
    "etc/key",
    "0600",
    sha256(SECRET),
  ]];
  const digest = `sha256:${sha256(JSON.stringify([[["API_KEY", SECRET], ["app.name", "x"]], files]))}`;
  const bound = { digest, env: ["API_KEY", "app.name"], files: ["etc/bin", "etc/key"] };
  expect([status, body]).toEqual([200, bound]);
  expect(await run(runtime, "printenv API_KEY app.name")).toBe(`${SECRET}\nx\n`);
  expect(await run(runtime, "cat etc/key")).toBe(SECRET);
  expect((await stat(made.at("etc/key"))).mode & 0o777).toBe(0o600);
  expect((await stat(made.at("etc/bin"))).mode & 0o777).toBe(0o640);
  expect((await ask(runtime, "GET")).body).toEqual(bound);
  expect(lines.join("\n")).toContain("app.name");
  expect(lines.join("\n")).not.toContain(digest);
  expect(lines.join("\n")).not.toMatch(new RegExp(`${SECRET}|${TOKEN}`));
});

test("the same delivery gives the same answer; another one takes its place; DELETE takes all back", async () => {
  const made = await makeRoot({ "mine": "kept" });
  const { runtime } = await start(made);
  const first = { env: { A: "1" }, files: [{ path: "a", content: "A" }, { path: "b", content: "B" }] };
  const { body } = await ask(runtime, "POST", first);
  expect((await ask(runtime, "POST", first)).body).toEqual(body);
  await ask(runtime, "POST", { env: { B: "2" }, files: [{ path: "b", content: "new" }] });
  expect(await run(runtime, "printenv A B")).toBe("2\n");
  expect(await readdir(made.root.path)).toEqual(["b", "mine"]);
  expect((await ask(runtime, "DELETE")).status).toBe(204);
  expect((await ask(runtime, "DELETE")).status).toBe(204);
  expect((await ask(runtime, "GET")).status).toBe(404);
  expect(await run(runtime, "printenv B")).toBe("");
  expect(await readdir(made.root.path)).toEqual(["mine"]);
});

test.for<[string, unknown, number]>([
  ["a list", [], 400],
  ["unknown fields", { env: {}, [SECRET]: 1 }, 400],
  ["a value that is no text", { env: { A: { [SECRET]: SECRET } } }, 400],
  ["a bad name", { env: { "A=B": SECRET } }, 400],
  ["an empty name", { env: { "": SECRET } }, 400],
  ["a NUL byte", { env: { A: `${SECRET}\0` } }, 400],
  ["a file without content", { files: [{ path: "a" }] }, 400],
  ["a file with two contents", { files: [{ path: "a", content: SECRET, content_base64: "" }] }, 400],
  ["bad base64", { files: [{ path: "a", content_base64: `${SECRET}!` }] }, 400],
  ["a bad mode", { files: [{ path: "a", content: SECRET, mode: "600" }] }, 400],
  ["a file twice", { files: [{ path: "a", content: SECRET }, { path: "./a", content: SECRET }] }, 400],
  ["a folder's path", { files: [{ path: "ok", content: SECRET }, { path: "folder", content: SECRET }] }, 400],
  ["a path outside", { files: [{ path: "ok", content: SECRET }, { path: "../x", content: SECRET }] }, 403],
  ["a link outside", { files: [{ path: "ok", content: SECRET }, { path: "out", content: SECRET }] }, 403],
])("%s is refused, nothing changes, and the answer shows no value", async ([, delivery, want]) => {
  const made = await makeRoot({ "folder/": "" });
  await symlink("../secret", made.at("out"));
  const { runtime, lines } = await start(made);
  const { status, text } = await ask(runtime, "POST", delivery);
  expect([status, text]).toEqual([want, expect.not.stringContaining(SECRET)]);
  expect(await readdir(made.root.path)).toEqual(["folder", "out"]);
  expect(await readFile(`${made.around}/secret`, "utf8")).toBe("SECRET");
  expect(await run(runtime, "printenv A")).toBe("");
  expect(lines.join()).not.toContain(SECRET);
});

const forClaim = (runtime: Runtime, method: string, body: unknown, claim = "c") =>
  ask(runtime, method, body, TOKEN, `?claim=${claim}`);

test("a claim's start command runs once, with its variables and files, as a command in the background", async () => {
  const made = await makeRoot();
  const { runtime, lines } = await start(made);
  const script = 'cat key >> ran; printenv API_KEY >> ran; echo "$PWD"; rm key; sleep 60 & sleep 60';
  const delivery = { env: { API_KEY: "1" }, files: [{ path: "key", content: SECRET }], start: script };
  const { status, body } = await forClaim(runtime, "POST", delivery);
  expect([status, body]).toEqual([200, expect.objectContaining({ claim: "c", processId: expect.any(Number) })]);
  await until(async () => (await readdir(made.root.path)).join() === "ran");
  // An answer may get lost, and a binder may start again.
  for (const method of ["POST", "PATCH", "POST"]) {
    expect((await forClaim(runtime, method, delivery)).body).toEqual(body);
  }
  expect(await readFile(made.at("ran"), "utf8")).toBe(`${SECRET}1\n`);
  expect(await readdir(made.root.path)).toEqual(["ran"]);
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
  const listed = await send(runtime.restPort, "POST", "/hookbox.runtime.v1.ProcessesService/List", {
    headers,
    body: "{}",
  });
  expect(JSON.parse(listed.text).processes).toEqual([expect.objectContaining({
    ...{ processId: body.processId, command: ["/bin/sh", "-c", script], cwd: made.root.path, detached: true },
    ...{ name: "start-command", outputBytes: String(made.root.path.length + 1) },
  })]);
  const activity = await send(runtime.restPort, "GET", "/v1/activity", { headers });
  expect(JSON.parse(activity.text)).toMatchObject({ running: 1, idleSeconds: 0 });
  expect([...lines, listed.text].join()).not.toContain(SECRET);
  expect((await forClaim(runtime, "POST", delivery, "other")).body.processId).not.toBe(body.processId);
});

test("a start command that cannot start is refused, and nothing is bound", async () => {
  const made = await makeRoot();
  const { runtime } = await start(made);
  expect((await ask(runtime, "POST", { start: "true" })).body.message).toContain("only a claim has a start command");
  for (const script of ["", "a\0b"]) expect((await forClaim(runtime, "POST", { start: script })).status).toBe(400);
  await rm(made.root.path, { recursive: true });
  const { status, body } = await forClaim(runtime, "POST", { env: { A: SECRET }, start: "true" });
  expect([status, body.message]).toEqual([400, expect.stringContaining("Cannot start the command of the claim")]);
  await mkdir(made.root.path);
  expect([(await ask(runtime, "GET")).status, await run(runtime, "printenv A")]).toEqual([404, ""]);
  expect((await forClaim(runtime, "POST", { start: "touch ran" })).status).toBe(200);
  await until(async () => (await readdir(made.root.path)).includes("ran"));
});

test("for a program, a claim's files come first; and the claim's leave those alone that a program has bound", async () => {
  const made = await makeRoot();
  const { runtime } = await start(made, "--claim-uid", "c");
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const read = send(runtime.restPort, "GET", "/v1/files/key", { headers });
  const ran = run(runtime, "cat key");
  await ask(runtime, "PATCH", { files: [{ path: "mine", content: "newer" }] });
  const files = [{ path: "key", content: SECRET }, { path: made.at("mine"), content: SECRET }];
  await forClaim(runtime, "PATCH", { files });
  expect([(await read).text, await ran]).toEqual([SECRET, SECRET]);
  expect(await readFile(made.at("mine"), "utf8")).toBe("newer");
});

test("binding is refused without the token, with another one, and where none is mounted", async () => {
  const made = await makeRoot();
  const { runtime } = await start(made, "--token-scope", "bind");
  for (const token of ["", "wrong", `${TOKEN}x`, TOKEN.slice(1)]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const { status, body } = await ask(runtime, method, method === "POST" ? {} : undefined, token);
      expect([method, token, status, body.code]).toEqual([method, token, 401, "UNAUTHENTICATED"]);
    }
  }
  const open = await startTestRuntime(made.root.path);
  onTestFinished(() => open.stop());
  const { status, body } = await ask(open, "POST", { env: { A: "1" } });
  expect([status, body.code, body.message]).toEqual([
    403,
    "PERMISSION_DENIED",
    expect.stringContaining("no token is mounted"),
  ]);
});

test("the token guards everything but health, or binding alone", async () => {
  const made = await makeRoot({ "f": "x" });
  const { runtime } = await start(made);
  const { runtime: narrow } = await start(made, "--token-scope", "bind");
  const asks = [["restPort", "/v1/files/f"], ["restPort", "/v1/disk"], ["port", "/download/f"], [
    "port",
    "/list/",
  ]] as const;
  for (const [port, path] of asks) {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    expect([path, (await send(runtime[port], "GET", path)).status]).toEqual([path, 401]);
    expect([path, (await send(runtime[port], "GET", path, { headers })).status]).toEqual([path, 200]);
    expect([path, (await send(narrow[port], "GET", path)).status]).toEqual([path, 200]);
  }
  const call = "/process.v1.ProcessService/Execute";
  for (const port of [runtime.restPort, runtime.grpcPort]) {
    const headers = { "Content-Type": "application/json" };
    expect((await send(port, "POST", call, { headers, body: "{}" })).status).toBe(401);
  }
  expect((await send(runtime.restPort, "GET", "/v1/health")).status).toBe(200);
  expect((await send(runtime.port, "GET", "/")).status).toBe(200);
});
