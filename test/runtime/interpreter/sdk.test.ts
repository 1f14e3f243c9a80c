/** Every method of the published `@e2b/code-interpreter`, on the runtime. @module */
import type { Execution, RunCodeOpts, Sandbox } from "@e2b/code-interpreter";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Runtime } from "../../../packages/runtime/start.ts";
import { eventually } from "../../eventually.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { startOpenRuntime } from "../servers.ts";
import { sandboxAt } from "./sandbox.ts";

let runtime: Runtime;
let sandbox: Sandbox;
beforeAll(async () => {
  runtime = await startOpenRuntime(tmpdir());
  // As a base URL with a slash at its end.
  sandbox = sandboxAt(`http://127.0.0.1:${runtime.interpreterPort}/`);
});
afterAll(() => runtime.stop());

/** What a run yields, without the methods. */
const plain = ({ results, logs, error, executionCount }: Execution) => ({
  results: results.map(({ raw, isMainResult }) => ({ ...raw, isMainResult })),
  logs,
  error: error && `${error.name}: ${error.value}`,
  executionCount,
});

describe("runCode()", () => {
  test("gives output, results by format, the error and the number of the run", async () => {
    const context = await sandbox.createCodeContext();
    const shown: string[] = [];
    const code = `import sys
print("out")
print("err", file=sys.stderr)
display("first")
class All:
    def _repr_html_(self): return "<b>1</b>"
    def _repr_markdown_(self): return "**1**"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"PNG"
    def _repr_jpeg_(self): return b"JPEG"
    def _repr_pdf_(self): return b"PDF"
    def _repr_latex_(self): return "$1$"
    def _repr_json_(self): return {"a": [1, None]}
    def _repr_javascript_(self): return "1"
    def _repr_mimebundle_(self, include, exclude): return {"e2b/data": {"x": [1]}, "application/x-own": "own"}
    def __repr__(self): return "All()"
All()`;
    const execution = await sandbox.runCode(code, {
      context,
      onStdout: ({ line, error }) => void shown.push(`${line}${error}`),
      onStderr: ({ line, error }) => void shown.push(`${line}${error}`),
      onResult: ({ text }) => void shown.push(text!),
    });
    expect(shown).toEqual(["out\nfalse", "err\ntrue", "first", "All()"]);
    expect(execution.text).toBe("All()");
    expect(plain(execution)).toEqual({
      results: [
        { text: "first", isMainResult: false },
        {
          text: "All()",
          html: "<b>1</b>",
          markdown: "**1**",
          svg: "<svg/>",
          png: "UE5H",
          jpeg: "SlBFRw==",
          pdf: "UERG",
          latex: "$1$",
          json: { a: [1, null] },
          javascript: "1",
          data: { x: [1] },
          extra: { "application/x-own": "own" },
          "application/x-own": "own",
          isMainResult: true,
        },
      ],
      logs: { stdout: ["out\n"], stderr: ["err\n"] },
      error: undefined,
      executionCount: 1,
    });
    const [, all] = execution.results;
    expect(all!.formats()).toEqual(
      "html markdown svg png jpeg pdf latex json javascript data application/x-own".split(" "),
    );
    expect(all!.extra).toEqual({ "application/x-own": "own" });
    const errors: string[] = [];
    const failed = await sandbox.runCode("x =\n", { context, onError: ({ name }) => void errors.push(name) });
    expect([errors, failed.error?.value, failed.executionCount]).toEqual([
      ["SyntaxError"],
      expect.stringContaining("invalid syntax"),
      2,
    ]);
    expect(failed.error?.traceback).toContain("x =");
  });

  test.for<[string, string, string[], string[]]>([
    ["python joins what is not flushed", "print('a'); print('b')", ["a\nb\n"], []],
    ["python ends a message at a flush", "for i in range(3): print(i, flush=True)", ["0\n", "1\n", "2\n"], []],
    ["python ends a message before one of the other stream", "import sys\nprint(1)\nsys.stderr.write('e')\nprint(2)", [
      "1\n",
      "2\n",
    ], ["e"]],
    ["python keeps a long text whole", "print('é' * 300_000)", [`${"é".repeat(300_000)}\n`], []],
    ["js has a message for each call", "console.log(1); console.error('e'); console.log('ü')", ["1\n", "ü\n"], ["e\n"]],
    ["bash has a message for each line", "echo a; echo b; printf c", ["a\n", "b\n", "c"], []],
  ])("%s", async ([name, code, stdout, stderr]) => {
    const language = name.split(" ")[0]!;
    expect((await sandbox.runCode(code, { language })).logs).toEqual({ stdout, stderr });
  });

  test("shows output while the code runs", async () => {
    const file = join(makeTempFolder(), "go");
    const code = `import os, time\nprint("waiting")\nwhile not os.path.exists(${
      JSON.stringify(file)
    }): time.sleep(0.01)`;
    const onStdout = () => writeFileSync(file, "");
    expect((await sandbox.runCode(code, { onStdout })).logs.stdout).toEqual(["waiting\n"]);
  });

  test.for<[string, string, string]>([
    ["python", "import asyncio\nawait asyncio.sleep(0)\n40 + 2", "42"],
    ["js", "import { basename } from 'node:path'; await 1; basename('/a/b')", "b"],
    ["javascript", "[1, 2].map((x) => x * 2)", "[ 2, 4 ]"],
    ["js", "const typed: number = 5; typed", "5"],
    ["ts", "const x: number = await Promise.resolve(3); x", "3"],
    ["typescript", "x + 1", "4"],
  ])("runs %s", async ([language, code, text]) => {
    const execution = await sandbox.runCode(code, { language });
    expect([execution.error, execution.text]).toEqual([undefined, text]);
  });

  test("reports the exit code of bash", async () => {
    expect(plain(await sandbox.runCode("cd /; false", { language: "bash" })).error).toBe("ExitCode: 1");
    expect((await sandbox.runCode("pwd", { language: "bash" })).logs.stdout).toEqual(["/\n"]);
  });

  test("sets variables for one run, and names the sandbox", async () => {
    const read: Record<string, (name: string) => RunCodeOpts & { code: string }> = {
      python: (name) => ({ code: `import os; print(os.environ.get("${name}"))`, language: "python" }),
      javascript: (name) => ({ code: `console.log(process.env["${name}"] ?? "None")`, language: "js" }),
      bash: (name) => ({ code: `set -u; echo "\${${name}-None}"`, language: "bash" }),
    };
    for (const [language, ask] of Object.entries(read)) {
      const value = async (name: string, envs?: Record<string, string>) => {
        const { code, ...more } = ask(name);
        return (await sandbox.runCode(code, { ...more, ...envs ? { envs } : {} })).logs.stdout.join("").trim();
      };
      expect(
        [
          await value("HBX_OWN", { HBX_OWN: "o'n\"e $x", HOME: "/elsewhere" }),
          await value("HBX_OWN"),
          await value("HOME", { HOME: "/elsewhere" }),
          await value("HOME"),
          await value("E2B_SANDBOX"),
          await value("E2B_SANDBOX_ID"),
        ],
        language,
      ).toEqual([
        "o'n\"e $x",
        "None",
        "/elsewhere",
        expect.not.stringContaining("elsewhere"),
        "true",
        sandbox.sandboxId,
      ]);
    }
    // The shell that replaces one that has exited gives the values back, too.
    await sandbox.runCode("exit 3", { language: "bash", envs: { HBX_OWN: "1", HOME: "/elsewhere" } });
    const { logs } = await sandbox.runCode('echo "${HBX_OWN-none} $HOME"', { language: "bash" });
    expect(logs.stdout.join()).toMatch(/^none (?!\/elsewhere)/);
  });

  test("runs one piece of code at a time in a context, in order", async () => {
    const context = await sandbox.createCodeContext();
    const runs = await Promise.all(
      [1, 2, 3].map((number) => sandbox.runCode(`import time; time.sleep(0.05); x = ${number}; x`, { context })),
    );
    expect(runs.map(({ text, executionCount }) => [text, executionCount])).toEqual([["1", 1], ["2", 2], ["3", 3]]);
  });

  test("does not run code whose client has left while it waited", async () => {
    const context = await sandbox.createCodeContext();
    const file = join(makeTempFolder(), "go");
    const code = `import os, time\nprint("begun")\nwhile not os.path.exists(${JSON.stringify(file)}): time.sleep(0.01)`;
    const begun = Promise.withResolvers<void>();
    const running = sandbox.runCode(code, { context, onStdout: () => begun.resolve() });
    await begun.promise;
    await expect(sandbox.runCode("late = 1", { context, timeoutMs: 100 })).rejects.toThrow("Execution timed out");
    writeFileSync(file, "");
    expect((await running).executionCount).toBe(1);
    const next = await sandbox.runCode("'late' in globals()", { context });
    expect([next.text, next.executionCount]).toEqual(["False", 2]);
  });

  test("interrupts code at the client's time limit, and keeps the variables", async () => {
    const context = await sandbox.createCodeContext();
    await sandbox.runCode("kept = 7", { context });
    const file = join(makeTempFolder(), "left");
    // What it does at the end is not interrupted again.
    const code = `import time
try:
    while True: time.sleep(1)
except KeyboardInterrupt:
    time.sleep(0.2)
    open(${JSON.stringify(file)}, "w")`;
    await expect(sandbox.runCode(code, { context, timeoutMs: 300 })).rejects.toThrow("Execution timed out");
    await eventually(() => existsSync(file)).toBe(true);
    expect((await sandbox.runCode("kept", { context })).text).toBe("7");
  });

  test("goes on in a new interpreter when code has ended the old one", async () => {
    const context = await sandbox.createCodeContext();
    const died = await sandbox.runCode("import os; os._exit(3)", { context });
    expect(plain(died).error).toBe("ContextRestarting: The interpreter ended (exit code 3)");
    const next = await sandbox.runCode("'os' in globals()", { context });
    expect([next.text, next.logs.stderr.join()]).toEqual(["False", expect.stringContaining("this is a new one")]);
  });

  test("refuses a context and a language at once, and names what is wrong", async () => {
    const context = { id: "gone", language: "python", cwd: "/" };
    await expect(sandbox.runCode("1", { context, language: "python" } as never)).rejects.toThrow("not both");
    await expect(sandbox.runCode("1", { context })).rejects.toMatchObject({
      name: "NotFoundError",
      message: "Context gone not found",
    });
    await expect(sandbox.runCode("1", { language: "cobol" })).rejects.toThrow("500 Internal Server Error");
  });
});

describe("contexts", () => {
  test("are created, listed with the default ones, restarted and removed", async () => {
    const cwd = makeTempFolder();
    const context = await sandbox.createCodeContext({ language: "python", cwd });
    expect(context).toEqual({ id: expect.any(String), language: "python", cwd });
    expect((await sandbox.runCode("import os; x = 1; os.getcwd()", { context })).text).toBe(cwd);
    const listed = await sandbox.listCodeContexts();
    expect(listed).toContainEqual(context);
    expect(listed.map(({ language }) => language)).toEqual(expect.arrayContaining(["python", "javascript"]));
    await sandbox.restartCodeContext(context);
    const after = await sandbox.runCode("import os; ('x' in globals(), os.getcwd())", { context });
    expect([after.text, after.executionCount, after.logs.stderr]).toEqual([`(False, '${cwd}')`, 1, []]);
    await sandbox.removeCodeContext(context.id);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
    for (const act of [() => sandbox.removeCodeContext(context), () => sandbox.restartCodeContext(context.id)]) {
      await expect(act()).rejects.toMatchObject({ name: "NotFoundError" });
    }
  });

  test("are separate, and the default one is another again", async () => {
    const [one, other] = [await sandbox.createCodeContext({ language: "js" }), await sandbox.createCodeContext()];
    expect([one.language, other.language]).toEqual(["javascript", "python"]);
    await sandbox.runCode("mine = 1", { context: other });
    expect((await sandbox.runCode("mine")).error?.name).toBe("NameError");
    expect((await sandbox.runCode("1 + 1", { context: one })).text).toBe("2");
  });

  test("of the language's default keep their variables between clients", async () => {
    await sandbox.runCode("between = 5");
    const other = sandboxAt(`http://127.0.0.1:${runtime.interpreterPort}`);
    expect((await other.runCode("between")).text).toBe("5");
  });

  test("end running code with an error when they restart or go", async () => {
    for (
      const [act, name] of [["restartCodeContext", "ContextRestarting"], ["removeCodeContext", "KernelDied"]] as const
    ) {
      const context = await sandbox.createCodeContext();
      const begun = Promise.withResolvers<void>();
      const running = sandbox.runCode("print('begun', flush=True)\nwhile True: pass", {
        context,
        onStdout: () => begun.resolve(),
      });
      await begun.promise;
      await sandbox[act](context);
      expect((await running).error?.name).toBe(name);
    }
  });
});

test("a page that says the sandbox is gone becomes a TimeoutError", async () => {
  const server = createServer((_, answer) => answer.writeHead(502).end("The sandbox was not found")).listen(0);
  onTestFinished(() => void server.close());
  const gone = sandboxAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(gone.runCode("1")).rejects.toMatchObject({ name: "TimeoutError" });
});
