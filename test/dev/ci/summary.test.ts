/** What closes a CI run. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";

const passing = { fullName: "one and one", status: "passed", failureMessages: [] };
const failing = {
  fullName: "two and two",
  status: "failed",
  failureMessages: ["Error: 5 is not 4\n    at sums.test.ts:3"],
};

test("nothing failed: a count, and success", () => {
  const { output, status } = summary([reportOf("sums", [passing])]);
  expect(output).toBe("1 passed, 0 failed, 0 skipped\n");
  expect(status).toBe(0);
});

test("what failed is named, with its file and its message, and counts in all reports add up", () => {
  const { output, status } = summary([reportOf("sums", [passing, failing]), reportOf("others", [passing])], ["tests"]);
  expect(output).toBe(
    "✗ test/sums.test.ts: two and two\n    Error: 5 is not 4\n        at sums.test.ts:3\n\n" +
      "failed: tests\n2 passed, 1 failed, 0 skipped\n",
  );
  expect(status).toBe(1);
});

test("a suite that breaks before its first test is named", () => {
  const { output } = summary([reportOf("sums", [], "Cannot find module")], ["tests"]);
  expect(output).toBe("✗ test/sums.test.ts\n    Cannot find module\n\nfailed: tests\n0 passed, 1 failed, 0 skipped\n");
});

test("a step without tests that failed counts as one", () => {
  const { output, status } = summary([reportOf("sums", [passing])], ["lint"]);
  expect(output).toBe("failed: lint\n1 passed, 1 failed, 0 skipped\n");
  expect(status).toBe(1);
});

test("what a run was run with stands before the count, and what it left out", () => {
  const report = { ...reportOf("sums", [passing]), numPendingTests: 28 };
  const skips = { skipped: { "needs a real node": 27 }, unexplained: ["test/sums.test.ts: three"] };
  const { output } = summary([report], ["tests"], { seed: "HOOKBOX_TEST_SEED=7", engine: "real", ...skips });
  expect(output).toBe(
    "0: engine   real\n0: seed     HOOKBOX_TEST_SEED=7\n0: skipped  27 (needs a real node)\n" +
      "0: skipped without a reason that dev/ci/facts.ts knows: test/sums.test.ts: three\n" +
      "failed: tests\n1 passed, 1 failed, 28 skipped\n",
  );
});

function reportOf(name: string, results: readonly (typeof passing | typeof failing)[], message = "") {
  const failed = results.filter(({ status }) => status === "failed").length;
  return {
    numPassedTests: results.length - failed,
    numFailedTests: failed,
    numPendingTests: 0,
    testResults: [{
      name: join(process.cwd(), "test", `${name}.test.ts`),
      status: failed > 0 || message !== "" ? "failed" : "passed",
      message,
      assertionResults: results,
    }],
  };
}

function summary(reports: readonly unknown[], failedSteps: readonly string[] = [], facts?: object) {
  const folder = mkdtempSync(join(tmpdir(), "summary-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  reports.forEach((report, index) => writeFileSync(join(folder, `${index}.json`), JSON.stringify(report)));
  if (facts) writeFileSync(join(folder, "0.facts.json"), JSON.stringify(facts));
  const { stdout, status } = spawnSync(process.execPath, ["dev/ci/summary.ts", folder, ...failedSteps], {
    encoding: "utf8",
  });
  return { output: stdout, status };
}
