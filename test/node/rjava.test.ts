/** Code in R and Java, which need packages that only a machine with a real node may install: state, output, errors, interrupts. @module */
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createContexts } from "../../packages/runtime/contexts/contexts.ts";
import type { Forms } from "../../packages/runtime/contexts/events.ts";
import type { Language } from "../../packages/runtime/contexts/kernel.ts";
import { hasRealNode } from "../integration/suite.ts";
import { installDebian } from "../installdebian.ts";

const PROGRAMS = { "/usr/bin/Rscript": "r-base-core", "/usr/bin/jshell": "default-jdk-headless" };

function installLanguages(): void {
  const missing = Object.entries(PROGRAMS).flatMap(([program, name]) => existsSync(program) ? [] : [name]);
  if (missing.length === 0) return;
  // Debian's JDK fails to install without this folder, which slim images lack.
  mkdirSync("/usr/share/man/man1", { recursive: true });
  const why = installDebian(missing, "code in R and Java", (line) => process.stdout.write(`rjava: ${line}\n`));
  if (why !== undefined) throw new Error(`Cannot test code in R and Java: ${why}`);
}

const started: (() => void)[] = [];
afterAll(() => started.forEach((kill) => kill()));

/** Starts an interpreter, and returns a function that runs code in it and gathers what the run yields. */
async function anInterpreter(language: Language, env: Record<string, string> = {}) {
  const contexts = createContexts("/");
  started.push(contexts.killAll);
  const context = await contexts.create(language, "/", env);
  const run = async (code: string, timeoutMs?: number, env: Record<string, string> = {}) => {
    const all = { stdout: "", stderr: "", text: "", error: "", traceback: "", shown: [] as Forms[], timedOut: false };
    for await (const event of contexts.run(context, code, { timeoutMs, env })) {
      if ("stdout" in event) all.stdout += event.stdout;
      else if ("stderr" in event) all.stderr += event.stderr;
      else if ("error" in event) {
        all.error = `${event.error.name}: ${event.error.value}`;
        all.traceback = event.error.traceback;
      } else if ("result" in event) {
        if (event.main) all.text = String(event.result["text/plain"]);
        else all.shown.push(event.result);
      } else all.timedOut = event.timedOut;
    }
    return all;
  };
  return { context, run };
}

const fine = { stdout: "", stderr: "", text: "", error: "", traceback: "", shown: [], timedOut: false };

describe.runIf(hasRealNode)("code in R", () => {
  beforeAll(installLanguages);

  test("keeps variables, functions, packages and the folder, prints as it runs, and returns the last value", async () => {
    const { run } = await anInterpreter("r", { COLOUR: "grün" });
    expect(await run('x <- 20\nf <- function(v) v + 1\nlibrary(tools)\nsetwd("/usr")')).toEqual(fine);
    expect(await run('cat("out\\n"); message("err"); x; toTitleCase("two words"); getwd(); f(x)')).toEqual({
      ...fine,
      stdout: 'out\n[1] 20\n[1] "Two Words"\n[1] "/usr"\n',
      stderr: "err\n",
      text: "[1] 21",
    });
    expect(await run('Sys.getenv("COLOUR")')).toEqual({ ...fine, text: '[1] "grün"' });
    const read = 'paste(Sys.getenv("COLOUR"), Sys.getenv("OTHER", NA))';
    expect((await run(read, undefined, { COLOUR: "b'lü", OTHER: "" })).text).toBe('[1] "b\'lü "');
    expect((await run(read)).text).toBe('[1] "grün NA"');
    expect(await run('"a\\"\\\\\\n\\t\\u0001ü😀"; y <- 3')).toMatchObject({ text: "" });
    expect((await run('cat("a\\"\\\\\\t\\u0001ü😀"); data.frame(a = 1:2, b = c("ü", "\\u0001"))')).stdout)
      .toBe('a"\\\t\u0001ü😀');
    expect(await run("# a\0 comment")).toEqual(fine);
    expect((await run(`nchar("${"ab".repeat(200_000)}")`)).text).toBe("[1] 400000");
    expect(await run('system("echo child; exit 2"); readLines("stdin")')).toMatchObject({
      stdout: "child\n",
      text: "character(0)",
    });
  });

  test("reports errors with their calls, and warnings with the call that is the user's", async () => {
    const { run } = await anInterpreter("r");
    expect(await run('g <- function(v) {\n  stop("bad ", v)\n}\nf <- function(v) g(v)\nf(1)\ncat("never")')).toEqual({
      ...fine,
      error: "simpleError: bad 1",
      traceback:
        'Error in g(v) : bad 1\nTraceback (most recent call last):\n  f(1)\n  g(v) (line 4)\n  stop("bad ", v) (line 2)',
    });
    expect(await run('stop("top")')).toMatchObject({ traceback: expect.stringMatching(/^Error: top\n/) });
    expect(await run("1 +* 2")).toMatchObject({
      error: expect.stringMatching(/^syntaxError: <text>:1:4: unexpected '\*'/),
    });
    expect(await run('as.integer("q"); f <- function() warning("inner"); f()')).toMatchObject({
      error: "",
      stderr: "Warning: NAs introduced by coercion\nWarning in f() : inner\n",
    });
    expect((await run("f <- function() f(); f()")).error).toMatch(
      /^(CStackOverflow|expressionStackOverflow|simple)Error/,
    );
    expect(await run('tryCatch(stop("x"), error = function(e) "caught")')).toEqual({ ...fine, text: '[1] "caught"' });
  });

  test("shows plots as images", async () => {
    const { run } = await anInterpreter("r");
    const { shown, text } = await run("plot(1:3)\nlines(3:1)\nhist(c(1, 2, 2))\n7");
    expect(text).toBe("[1] 7");
    const images = shown.map((forms) => Buffer.from(String(forms["image/png"]), "base64"));
    expect(images.map((image) => image.subarray(0, 8).toString("latin1"))).toEqual(Array(2).fill("\x89PNG\r\n\x1a\n"));
    expect(images.map((image) => image.subarray(-8, -4).toString("latin1"))).toEqual(["IEND", "IEND"]);
    expect(await run("1")).toEqual({ ...fine, text: "[1] 1" });
  });

  test.for([
    "repeat {}",
    "Sys.sleep(300)",
    'system("sleep 300")',
    'while (TRUE) cat("text\\n")',
    'system("sleep 300", intern = TRUE)',
    "f <- function() repeat Sys.sleep(0.001); f()",
  ])("an interrupt ends `%s`, and what comes after it, whenever it comes", async (code) => {
    const { context, run } = await anInterpreter("r");
    await run("x <- 5");
    for (let round = 0; round < 8; round++) {
      const running = run(`${code}\ncat("never")`);
      await delay(round * 3);
      context.kernel.interrupt();
      const { stdout, error } = await running;
      expect([stdout.includes("never"), error]).toEqual([false, "Interrupted: "]);
      context.kernel.interrupt();
    }
    expect(await run("x")).toEqual({ ...fine, text: "[1] 5" });
  });
});

describe.runIf(hasRealNode)("code in Java", () => {
  let java: Awaited<ReturnType<typeof anInterpreter>>;
  // One for all tests: it takes seconds to start.
  beforeAll(async () => {
    installLanguages();
    java = await anInterpreter("java", { COLOUR: "grün" });
  });

  test("has the variables of a run as system properties", async () => {
    const { run } = java;
    const read = 'System.getProperty("OWN") + System.getProperty("file.separator")';
    expect((await run(read, undefined, { OWN: "ü b", "file.separator": "" })).text).toBe('"ü b"');
    expect((await run(read)).text).toBe('"null/"');
  });

  test("keeps variables, methods, classes and imports, prints as it runs, and returns the last value", async () => {
    const { run } = java;
    const declared =
      "int x = 20;\nint f(int v) {\n  return v + 1;\n}\nrecord Pair(int a, String b) {}\nimport java.time.*;";
    expect(await run(declared)).toEqual(fine);
    expect(await run('System.out.println("out"); System.err.println("err"); x; f(x)')).toEqual({
      ...fine,
      stdout: "out\n",
      stderr: "err\n",
      text: "21",
    });
    expect(await run('new Pair(Period.ofDays(3).getDays(), System.getenv("COLOUR"))')).toMatchObject({
      text: "Pair[a=3, b=grün]",
    });
    expect(await run("List.of(1, 2).stream().map(a -> a * 2) // comment\n  .collect(Collectors.toList())"))
      .toMatchObject({
        text: "[2, 4]",
        error: "",
      });
    expect(await run('for (var b : "ü😀".getBytes("UTF-8")) System.out.write(b);')).toEqual({ ...fine, stdout: "ü😀" });
    expect(await run('new ProcessBuilder("echo", "child").inheritIO().start().waitFor()')).toMatchObject({
      stdout: "child\n",
      text: "0",
    });
    expect(await run("System.in.read()")).toMatchObject({ text: "-1" });
    expect(await run("// nothing")).toEqual(fine);
    expect(await run('String s = "a\\"\\t";')).toEqual(fine);
    expect(await run("s")).toMatchObject({ text: '"a\\"\\t"' });
  });

  test("reports exceptions with their frames, and errors of the compiler with their line", async () => {
    const { run } = java;
    const thrown = await run('int f(int n) {\n  return 10 / n;\n}\nf(0);\nSystem.out.println("never");');
    expect(thrown).toMatchObject({ stdout: "", error: "java.lang.ArithmeticException: / by zero" });
    expect(thrown.traceback).toMatch(
      /^java\.lang\.ArithmeticException: \/ by zero\n\tat f\(#\d+:2\)\n\tat \(#\d+:1\)$/,
    );
    expect(await run('throw new IllegalStateException("outer", new RuntimeException("inner"))')).toMatchObject({
      traceback: expect.stringContaining("\nCaused by: java.lang.RuntimeException: inner\n"),
    });
    expect(await run('int y = 1;\n\nint z = "a";')).toMatchObject({
      error: expect.stringMatching(/^CompilationError: incompatible types/),
      traceback: expect.stringMatching(/^line 3: incompatible types/),
    });
    expect(await run("y")).toMatchObject({ text: "1" });
    expect((await run("Missing m;")).error).toBe("CompilationError: cannot find class Missing");
    expect(await run("int g() { return h(); }")).toEqual(fine);
    expect((await run("g()")).error).toBe("CompilationError: cannot find method h()");
    expect((await run("int k = ")).error).toMatch(/^CompilationError: reached end of file/);
  });

  test("an interrupt ends the code whenever it comes, and a time limit does, too", async () => {
    const { context, run } = java;
    await run("int x = 5;");
    const codes = [
      "while (true) {}",
      "Thread.sleep(300_000);",
      'while (true) System.out.println("text");',
      "for (;;) { try { Thread.sleep(10); } catch (InterruptedException e) {} }",
    ];
    for (let round = 0; round < 8; round++) {
      const running = run(`${codes[round % codes.length]}\nSystem.out.println("never");`);
      await delay(round < 4 ? 0 : 300 + 50 * round);
      context.kernel.interrupt();
      const { stdout, error } = await running;
      expect([stdout.includes("never"), error]).toEqual([false, "Interrupted: "]);
      context.kernel.interrupt();
    }
    expect(await run("while (true) {}", 500)).toMatchObject({ error: "Interrupted: ", timedOut: true });
    expect(await run("x")).toMatchObject({ text: "5" });
    expect((await run("System.exit(4)")).error).toBe("KernelDied: The interpreter ended (exit code 4)");
  });
});
