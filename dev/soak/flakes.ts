/** `npm run soak -- flakes`: runs test files again and again beside other work, and lists what did not always pass. @module */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { failureLines, failuresOf, type Run } from "./failures.ts";

export const HELP = `Usage: npm run soak -- flakes [files…] [options]

Runs the test files of npm test again and again: beside busy loops, and with half of the CPUs. Nothing is tried twice:
a test that fails once is listed, with the seed of its run and the line that tries it again. Without files all are
run; a file is a part of a path, as vitest takes it. Exit code: 1 if anything failed.

Options:
  --runs N        runs beside busy loops (default 20)
  --loops N       busy loops, a thread each (default 2)
  --half-runs N   runs on half of the CPUs, without busy loops (default 1); needs taskset and two CPUs
  --seed N        the same HOOKBOX_TEST_SEED for every run (default: one of its own for each)
  --out DIR       folder for logs and reports (default: a new one in the folder for temporary files)
  --help          this text
`;

/** What is asked for. */
export interface FlakesOptions {
  files: string[];
  runs: number;
  loops: number;
  halfRuns: number;
  /** Undefined: each run draws its own. */
  seed: number | undefined;
  out: string | undefined;
  help: boolean;
}

/** Reads the arguments. @throws {TypeError | RangeError} if one makes no sense */
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

/** A list of CPUs for taskset: half of those that this process may use. @throws {RangeError} if there is only one */
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

/** Runs it. Returns the exit code: 0 if everything passed each time, 1 if not, 2 if the options make no sense. */
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
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const runs: Run[] = [];
  const go = async (name: string, prefix: string[]) => {
    if (stop.signal.aborted) return;
    const begun = performance.now();
    const run = await runOnce(name, prefix, options, { root, out, signal: stop.signal });
    // What was broken off says nothing of its tests.
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
  if (stop.signal.aborted) process.stdout.write("Broken off: not all runs took place.\n");
  return failures.length > 0 || stop.signal.aborted ? 1 : 0;
}

/** Keeps as many CPUs busy; they end with this process too. Returns what ends them. */
function startLoops(count: number): () => Promise<void> {
  const loops = Array.from({ length: count }, () => new Worker("for (;;);", { eval: true }));
  return async () => void await Promise.all(loops.map((loop) => loop.terminate()));
}

interface Place {
  root: string;
  out: string;
  signal: AbortSignal;
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
