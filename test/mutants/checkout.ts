/** A copy of this checkout, in which tests run on changed files. @module */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Mutant, mutated } from "./mutant.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What is left behind: big, or none of the tests' business. */
const LEFT = new Set([".git", "node_modules", ".hookbox", "dist"]);
/** A test that lasts so long has failed: many a fault keeps a test waiting. */
const TEST_MS = 90_000;
/** A file of tests ends by itself long before this. */
const LONGEST_MS = 300_000;

/** What became of a file of tests. */
interface Outcome {
  passed: number;
  /** Names of the tests that failed; empty if the file could not even be loaded. */
  failed: string[];
  /** The end of what vitest has said. */
  output: string;
}

export interface Checkout {
  /** Runs one file of tests, up to its first failure, with the mutant if there is one. @throws {Error} if it does not end */
  run(test: string, mutant?: Mutant): Promise<Outcome>;
  remove(): void;
}

/** Makes a copy. @param seed of random tests */
export function copyCheckout(seed: number): Checkout {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "hookbox-mutants-")));
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !LEFT.has(relative(ROOT, path)) });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const { HOOKBOX_TEST_SOAK: _, HOOKBOX_TEST_REPORT: __, VITEST: ___, ...rest } = process.env;
  const env = { ...rest, HOOKBOX_TEST_SEED: String(seed) };
  return {
    async run(test, mutant) {
      if (!mutant) return await runVitest(folder, test, env);
      const path = join(folder, mutant.file);
      const text = readFileSync(path, "utf8");
      writeFileSync(path, mutated(text, mutant));
      try {
        return await runVitest(folder, test, env);
      } finally {
        writeFileSync(path, text);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

interface Report {
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

async function runVitest(cwd: string, test: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const reportFile = join(cwd, "mutants-report.json");
  rmSync(reportFile, { force: true });
  const args = ["run", test, "--bail=1", `--testTimeout=${TEST_MS}`, "--reporter=json", `--outputFile=${reportFile}`];
  const output = await new Promise<string>((resolve, reject) => {
    const vitest = join(cwd, "node_modules/vitest/vitest.mjs");
    const options = { cwd, env, timeout: LONGEST_MS, killSignal: "SIGKILL" as const, maxBuffer: 1 << 26 };
    execFile(process.execPath, [vitest, ...args], options, (error, stdout, stderr) => {
      if (error?.killed) reject(new Error(`Cannot run ${test}: it has not ended after ${LONGEST_MS / 1000} s`));
      else resolve(`${stdout}${stderr}`.slice(-2000));
    });
  });
  const { testResults } = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    passed: results.filter(({ status }) => status === "passed").length,
    failed: results.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
    output,
  };
}
