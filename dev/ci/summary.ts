/**
 * Ends a CI run. It names the failed tests from vitest's JSON reports (`<run>.json`), describes the configuration and
 * the skipped tests of each run (`<run>.facts.json`, see dev/ci/facts.ts), and counts. A step that failed without a
 * failed test counts as one failure. @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import process from "node:process";
import { factLines, type RunFacts } from "./facts.ts";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly Suite[];
}

interface Suite {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly Result[];
}

interface Result {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

const shownLines = 20;

const [directory = ".", ...failedSteps] = process.argv.slice(2);
const FACTS = ".facts.json";
const names = readdirSync(directory).filter((name) => name.endsWith(".json")).sort();
const read = (name: string) => JSON.parse(readFileSync(join(directory, name), "utf8"));
const reports = names.filter((name) => !name.endsWith(FACTS)).map((name): Report => read(name));

for (const suite of reports.flatMap(({ testResults }) => testResults)) {
  const file = relative(process.cwd(), suite.name);
  const failures = suite.assertionResults.filter(({ status }) => status === "failed");
  for (const { fullName, failureMessages } of failures) print(`${file}: ${fullName}`, failureMessages.join("\n"));
  if (suite.status === "failed" && failures.length === 0) print(file, suite.message);
}
for (const name of names.filter((name) => name.endsWith(FACTS))) {
  const lines = factLines(read(name) as RunFacts).map((line) => `${basename(name, FACTS)}: ${line}\n`);
  process.stdout.write(lines.join(""));
}
if (failedSteps.length > 0) process.stdout.write(`failed: ${failedSteps.join(", ")}\n`);
const passed = reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0);
const skipped = reports.reduce((sum, { numPendingTests }) => sum + numPendingTests, 0);
// If a suite fails before its first test, no test is reported as failed.
const failed = Math.max(reports.reduce((sum, { numFailedTests }) => sum + numFailedTests, 0), failedSteps.length);
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed > 0 ? 1 : 0;

function print(title: string, message: string): void {
  const lines = message.split("\n").slice(0, shownLines);
  process.stdout.write(`✗ ${title}\n${lines.map((line) => `    ${line}\n`).join("")}\n`);
}
