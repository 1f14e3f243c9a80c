/** Adds up vitest's JSON reports into the line that closes a CI run. A step that failed without a test counts as one. @module */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const [directory = ".", ...failedSteps] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const file of readdirSync(directory).filter((name) => name.endsWith(".json"))) {
  const report = JSON.parse(readFileSync(join(directory, file), "utf8"));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
}
if (failedSteps.length > 0) process.stdout.write(`failed: ${failedSteps.join(", ")}\n`);
// A suite that breaks before its first test leaves no failed test behind.
failed = Math.max(failed, failedSteps.length);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
