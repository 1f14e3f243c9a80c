/** createCode() on a real runtime: state, results, output, exceptions, limits, and connections that break. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  FileNotFoundError,
  InvalidArgumentError,
  NotFoundError,
  TimeoutError,
  UnsupportedError,
} from "../../../packages/sdk/errors.ts";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import type { SandboxTransport } from "../../../packages/sdk/transport/transport.ts";
import { eventually } from "../../eventually.ts";
import { holdTimers } from "../../hurry.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { aSandbox, localTransport, OBJECT } from "../localtransport.ts";
import { aProxy } from "../proxy.ts";

async function code() {
  const sandbox = await aSandbox({ "folder/": "" });
  return { ...sandbox, ...createCode(sandbox.runtimeClient), files: createFiles(sandbox.runtimeClient) };
}

test("runCode() keeps state; its text is that of the main result", async () => {
  const { runCode } = await code();
  expect(await runCode("x = 20")).toEqual({ results: [], logs: { stdout: [], stderr: [] }, executionCount: 1 });
  const execution = await runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(1)\nx + 1");
  expect(execution).toMatchObject({ text: "21", executionCount: 2 });
  expect([execution.logs.stdout.join(""), execution.logs.stderr.join("")]).toEqual(["out\n", "err\n"]);
  expect(execution.results.map(({ text, isMainResult }) => [text, isMainResult])).toEqual([["1", false], ["21", true]]);
  expect((await runCode("const a: number = 4; a", { language: "typescript" })).text).toBe("4");
});

const SHOWN = `class Shown:
    def __repr__(self): return "shown"
    def _repr_html_(self): return "<b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1, None]}
    def _repr_mimebundle_(self, include, exclude): return {"text/x-own": "own"}
class DataFrame:
    def __repr__(self): return "table"
    def to_dict(self, orient): return {"a": [1, 2]}
display(Shown())
DataFrame()`;

test("results have E2B's fields, and formats() names those that are there", async () => {
  const [shown, table] = (await (await code()).runCode(SHOWN)).results;
  expect({ ...shown, formats: shown?.formats() }).toEqual({
    text: "shown",
    html: "<b>",
    png: "iVBORw==",
    json: { a: [1, null] },
    extra: { "text/x-own": "own" },
    isMainResult: false,
    formats: ["text", "html", "png", "json", "text/x-own"],
  });
  expect(table).toMatchObject({ text: "table", data: { a: [1, 2] }, isMainResult: true });
});

test("callbacks get everything in order, and are waited for", async () => {
  const seen: unknown[] = [];
  const slowly = async (value: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    seen.push(value);
  };
  const { error } = await (await code()).runCode("print('a', end='')\ndisplay(2)\nprint('b', end='')\n1 / 0", {
    onStdout: slowly,
    onResult: ({ text }) => slowly(text),
    onError: ({ name }) => slowly(name),
  });
  expect(seen).toEqual(["a", "2", "b", "ZeroDivisionError"]);
  expect(error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
  expect(error?.traceback).toMatch(/line 4/);
});

test("what a callback throws breaks the code off and comes out as it is; the state stays", async () => {
  const { runCode, listCodeContexts } = await code();
  const onStdout = () => {
    throw new RangeError("mine");
  };
  await expect(runCode("x = 7\nprint(1)\nwhile True: pass", { onStdout })).rejects.toThrow(new RangeError("mine"));
  await eventually(async () => (await listCodeContexts())[0]?.isBusy).toBe(false);
  expect((await runCode("x")).text).toBe("7");
});

test("timeoutMs is a TimeoutError whose cause is what came until then; a signal ends a run with its reason", async () => {
  const { runCode } = await code();
  const pass = holdTimers();
  const onOutput = Promise.withResolvers<void>();
  const printing = "print('so far', end='')\nwhile True: pass";
  const running = runCode(printing, { timeoutMs: 300, onStdout: () => onOutput.resolve() }).catch((error) => error);
  await onOutput.promise;
  pass(300);
  const late = await running;
  expect(late).toBeInstanceOf(TimeoutError);
  expect(late).toMatchObject({ object: OBJECT, remedy: expect.stringContaining("timeoutMs") });
  expect(late.cause).toMatchObject({ logs: { stdout: ["so far"] }, error: { name: "KeyboardInterrupt" } });
  const leaving = new AbortController();
  const onStdout = () => leaving.abort(new Error("enough"));
  const endless = "print(1)\nwhile True: pass";
  await expect(runCode(endless, { signal: leaving.signal, onStdout })).rejects.toThrow("enough");
  await expect(runCode("1", { signal: leaving.signal })).rejects.toThrow("enough");
  expect((await runCode("'alive'")).text).toBe("'alive'");
});

test("contexts are made, listed, interrupted, restarted and removed", async () => {
  const { runCode, at, ...contexts } = await code();
  const context = await contexts.createCodeContext({ cwd: "folder", env: { OWN: "own" } });
  expect(context).toEqual({ id: context.id, language: "python", cwd: at("folder"), isAlive: true, isBusy: false });
  expect((await runCode("import os; os.environ['OWN'] + os.getcwd()", { context })).text).toBe(`'own${at("folder")}'`);
  const onStdout = () => contexts.interruptCodeContext(context);
  const { error } = await runCode("y = 1; print()\nwhile True: pass", { context: context.id, onStdout });
  expect([error?.name, (await runCode("y", { context })).text]).toEqual(["KeyboardInterrupt", "1"]);
  await runCode("os._exit(1)", { context }).catch(() => {});
  await expect(runCode("1", { context })).rejects.toThrow(ConflictError);
  expect(await contexts.listCodeContexts()).toMatchObject([{ id: context.id, isAlive: false }]);
  expect((await contexts.restartCodeContext(context)).isAlive).toBe(true);
  await runCode("x = 1");
  const restarted = await contexts.restartCodeContext({ language: "python" });
  expect((await runCode("'x' in globals()", { context: restarted })).text).toBe("False");
  await contexts.removeCodeContext(restarted);
  expect(await runCode("'y' in globals()", { context })).toMatchObject({ text: "False", executionCount: 1 });
  await contexts.removeCodeContext(context);
  expect(await contexts.listCodeContexts()).toEqual([]);
  await expect(runCode("1", { context })).rejects.toThrow(NotFoundError);
});

test("what makes no sense is refused, with its reason", async () => {
  const { runCode, createCodeContext } = await code();
  const cobol = await runCode("1", { language: "cobol" }).catch((error) => error);
  expect(cobol).toBeInstanceOf(InvalidArgumentError);
  expect(cobol.message).toBe("Cannot run code: the languages are python, javascript, typescript, bash, r, java");
  await expect(runCode("1", { language: "python", context: "x" })).rejects.toThrow(InvalidArgumentError);
  await expect(runCode("1", { timeoutMs: 0 })).rejects.toThrow(InvalidArgumentError);
  const nowhere = await createCodeContext({ cwd: "none" }).catch((error) => error);
  expect(nowhere).toBeInstanceOf(NotFoundError);
  expect(nowhere).not.toBeInstanceOf(FileNotFoundError);
  expect(nowhere).toMatchObject({ reason: "NOT_FOUND", object: OBJECT });
  const missing = await createCodeContext({ language: "r", env: { PATH: "/none" } }).catch((error) => error);
  expect(missing).toBeInstanceOf(NotFoundError);
  expect(missing.message).toContain("R is not installed in this sandbox");
});

test("a connection that breaks is a ConnectionError, and the code is not run again", async () => {
  const { port, files, at } = await code();
  const proxy = await aProxy(port);
  const { runCode, listCodeContexts } = createCode(createRuntimeClient(localTransport(proxy.port), OBJECT, undefined));
  const text = `open(${JSON.stringify(at("ran"))}, "a").write("once"); print(1, flush=True)\nwhile True: pass`;
  const broken = await runCode(text, { onStdout: proxy.breakOff }).catch((error) => error);
  expect(broken).toBeInstanceOf(ConnectionError);
  expect(broken).toMatchObject({ mayHaveArrived: true, object: OBJECT });
  expect(broken.message).toMatch(/^Cannot run code: the connection broke/);
  await eventually(async () => (await listCodeContexts())[0]?.isBusy).toBe(false);
  expect(await files.read("ran")).toBe("once");
  proxy.refuse(true);
  await expect(runCode("1")).rejects.toThrow(ConnectionError);
});

test("where something else answers, or the token is another, the error says so", async () => {
  const around = makeTempFolder();
  writeFileSync(join(around, "token"), "right");
  const { port } = await aSandbox({}, "--token-file", join(around, "token"));
  const run = (transport: SandboxTransport, token?: string) =>
    createCode(createRuntimeClient(transport, OBJECT, token)).runCode("1 + 1");
  expect((await run(localTransport(port), "right")).text).toBe("2");
  const wrong = await run(localTransport(port), "wrong").catch((error) => error);
  expect(wrong).toBeInstanceOf(AuthenticationError);
  expect(wrong.message).toMatch(/the token is another one\. Give the option `token`/);
  const noRuntime = { fetch: () => Promise.resolve(Response.json({ detail: "no such thing" }, { status: 404 })) };
  await expect(run({ ...localTransport(port), ...noRuntime })).rejects.toThrow(UnsupportedError);
});
