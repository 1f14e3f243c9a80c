/**
 * `npm run soak -- flakes`: runs test files many times under CPU load, and lists the tests that failed at least once.
 * @module
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

const HELP = `Usage: npm run soak -- flakes [files…] [options]

Runs the test files of npm test many times: first while busy loops load the CPUs, then on half of the CPUs. It does not
retry a failed test. Each test that fails at least once is listed, with its seed and the command that repeats it. If you
name no files, all files run. A file is a part of a path, as for vitest. The exit code is 1 if a test failed or if you
stopped the runs.

Options:
  --runs N        number of runs under CPU load (default 20)
  --loops N       number of busy loops, one thread each (default 2)
  --half-runs N   number of runs on half of the CPUs, without load (default 1); needs taskset and two CPUs
  --seed N        HOOKBOX_TEST_SEED of every run (default: a random seed for each run)
  --out DIR       folder for logs and reports (default: a new temporary folder)
  --help          print this text
`;

/** The options of the command line. */
interface FlakesOptions {
  files: string[];
  runs: number;
  loops: number;
  halfRuns: number;
  /** Undefined: each run draws a random seed. */
  seed: number | undefined;
  out: string | undefined;
  help: boolean;
}

interface Place {
  root: string;
  out: string;
  signal: AbortSignal;
}

/** The parts of vitest's JSON report that this module reads. */
export interface RunReport {
  testResults: {
    /** Path of the file. */
    name: string;
    status: string;
    /** Why a file could not be run. */
    message?: string;
    assertionResults: { fullName: string; status: string; failureMessages?: string[] | null }[];
  }[];
}

/** One run of the test files. */
export interface Run {
  /** E.g. `busy 3`. */
  name: string;
  /** The value of HOOKBOX_TEST_SEED in this run. */
  seed: number;
  /** vitest's exit code; null: a signal ended vitest. */
  code: number | null;
  /** Undefined: vitest wrote no report. */
  report: RunReport | undefined;
  /** Path of the file with the run's output. */
  log: string;
}

/** A test, a test file or a whole run that failed at least once. */
interface Failure {
  /** Relative to the checkout; undefined: no file is known. */
  file: string | undefined;
  /** Undefined: the file failed, not a test in it. */
  test: string | undefined;
  /** First line of the first failure's message. */
  message: string;
  /** The runs with this failure, at least one. */
  runs: Run[];
}

/** Reads the arguments. @throws {TypeError | RangeError} if an argument is invalid */
export function readFlakesOptions(args: string[]): FlakesOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      runs: { type: "string", default: "20" },
      loops: { type: "string", default: "2" },
      "half-runs": { type: "string", default: "1" },
      seed: { type: "string" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  return {
    files: positionals,
    runs: countOf("runs", values.runs),
    loops: countOf("loops", values.loops),
    halfRuns: countOf("half-runs", values["half-runs"]),
    seed: values.seed === undefined ? undefined : countOf("seed", values.seed),
    out: values.out,
    help: values.help,
  };
}

function countOf(option: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new RangeError(`Cannot use --${option} ${text}: it is not a whole number`);
  return Number(text);
}

/**
 * Returns a list of CPUs for taskset: half of the CPUs that this process may use.
 *
 * @throws {RangeError} if this process may use only one CPU
 */
export function halfOfCPUs(allowed: string): string {
  const cpus = allowed.trim().split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  if (cpus.length < 2) throw new RangeError("Cannot run on half of the CPUs: there is only one; use --half-runs 0");
  return cpus.slice(0, Math.floor(cpus.length / 2)).join(",");
}

function allowedCPUs(): string {
  const status = readFileSync("/proc/self/status", "utf8");
  return /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? `0-${availableParallelism() - 1}`;
}

/** Runs the command. Returns the exit code: 0 if every test passed in every run, 1 if not, 2 if an option is invalid. */
export async function findFlakes(args: string[], root: string): Promise<number> {
  let options: FlakesOptions;
  let half = "";
  try {
    options = readFlakesOptions(args);
    if (!options.help && options.halfRuns > 0) half = halfOfCPUs(allowedCPUs());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const out = options.out ?? mkdtempSync(join(tmpdir(), "hookbox-flakes-"));
  mkdirSync(out, { recursive: true });
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const runs: Run[] = [];
  const go = async (name: string, prefix: string[]) => {
    if (stop.signal.aborted) return;
    const begun = performance.now();
    const run = await runOnce(name, prefix, options, { root, out, signal: stop.signal });
    // A run that was stopped early says nothing about its tests.
    if (stop.signal.aborted) return;
    runs.push(run);
    const failed = failuresOf([run], root).length;
    const seconds = Math.round((performance.now() - begun) / 1000);
    process.stdout.write(
      `${name.padEnd(10)} ${failed === 0 ? "passed" : `${failed} failed`}  ${seconds} s  seed ${run.seed}\n`,
    );
  };
  const endLoops = startLoops(options.loops);
  for (let i = 1; i <= options.runs; i++) await go(`busy ${i}`, []);
  await endLoops();
  for (let i = 1; i <= options.halfRuns; i++) await go(`half ${i}`, ["taskset", "-c", half]);
  const failures = failuresOf(runs, root);
  process.stdout.write(`${failureLines(failures, runs).join("\n")}\n`);
  if (stop.signal.aborted) process.stdout.write("Stopped early: not all runs took place.\n");
  return failures.length > 0 || stop.signal.aborted ? 1 : 0;
}

/** Starts `count` busy loops, which end no later than this process. Returns a function that ends them earlier. */
function startLoops(count: number): () => Promise<void> {
  const loops = Array.from({ length: count }, () => new Worker("for (;;);", { eval: true }));
  return async () => void await Promise.all(loops.map((loop) => loop.terminate()));
}

async function runOnce(
  name: string,
  prefix: string[],
  options: FlakesOptions,
  { root, out, signal }: Place,
): Promise<Run> {
  const seed = options.seed ?? randomInt(2 ** 31);
  const base = join(out, name.replace(" ", "-"));
  const log = `${base}.log`;
  const file = openSync(log, "w");
  const [program = "", ...args] = [...prefix, join(root, "node_modules/.bin/vitest"), "run", ...options.files];
  const { HOOKBOX_TEST_SOAK: _, ...env } = process.env;
  const report = { HOOKBOX_TEST_REPORT: base, HOOKBOX_TEST_SEED: `${seed}` };
  const child = spawn(program, args, { cwd: root, env: { ...env, ...report }, stdio: ["ignore", file, file] });
  const end = () => void child.kill("SIGTERM");
  signal.addEventListener("abort", end, { once: true });
  const [code] = await Promise.race([
    once(child, "exit"),
    once(child, "error").then(([error]) => Promise.reject(error)),
  ]);
  signal.removeEventListener("abort", end);
  const read = existsSync(`${base}.json`) ? JSON.parse(readFileSync(`${base}.json`, "utf8")) : undefined;
  return { name, seed, code, report: read, log };
}

/** Returns the failures of all runs, the most frequent first. */
export function failuresOf(runs: readonly Run[], root: string): Failure[] {
  const found = new Map<string, Failure>();
  const add = (run: Run, file: string | undefined, test: string | undefined, message: string) => {
    const key = JSON.stringify([file, test]);
    const failure = found.get(key) ?? { file, test, message: firstLine(message), runs: [] };
    failure.runs.push(run);
    found.set(key, failure);
  };
  for (const run of runs) {
    let named = 0;
    for (const { name, status, message = "", assertionResults } of run.report?.testResults ?? []) {
      const file = name.startsWith(root) ? name.slice(root.length) : name;
      const failed = assertionResults.filter((each) => each.status === "failed");
      for (const each of failed) add(run, file, each.fullName, each.failureMessages?.[0] ?? "");
      if (failed.length === 0 && status === "failed") add(run, file, undefined, message);
      if (status === "failed" || failed.length > 0) named++;
    }
    // The run failed, but no test did: an error outside of all tests, or a signal.
    if (run.code !== 0 && named === 0) add(run, undefined, undefined, `the run ended with ${run.code ?? "a signal"}`);
  }
  return [...found.values()].sort((a, b) => b.runs.length - a.runs.length);
}

function firstLine(text: string): string {
  return text.split("\n").find((line) => line.trim() !== "")?.trim() ?? "no message";
}

/** Renders failures for a terminal: which test, in which runs, the message, the log, and the command that repeats it. */
export function failureLines(failures: readonly Failure[], runs: readonly Run[]): string[] {
  const [first] = runs;
  if (failures.length === 0) return [first ? `Nothing failed in ${counted(runs.length)}.` : "Nothing was run."];
  const lines = failures.flatMap(({ file, test, message, runs: bad }) => [
    "",
    [file ?? "(no file)", test].filter((part) => part !== undefined).join(" > "),
    `  failed in ${bad.length} of ${counted(runs.length)}: ${bad.map(({ name }) => name).join(", ")}`,
    `  ${message}`,
    `  log:   ${bad[0]?.log}`,
    `  again: npm run soak -- flakes --seed ${bad[0]?.seed}${file === undefined ? "" : ` ${file}`}`,
  ]);
  return [...lines, "", `${failures.length} failed at least once in ${counted(runs.length)}.`];
}

const counted = (count: number) => count === 1 ? "1 run" : `${count} runs`;
