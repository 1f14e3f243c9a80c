/** The options of `npm run soak -- flakes`, and the list of failures that it prints. @module */
import { expect, test } from "vitest";
import {
  failureLines,
  failuresOf,
  halfOfCPUs,
  readFlakesOptions,
  type Run,
  type RunReport,
} from "../../../dev/soak/flakes.ts";

const passed = { fullName: "a passes", status: "passed" };
const failed = {
  fullName: "b fails",
  status: "failed",
  failureMessages: ["\nAssertionError: expected 1 to be 2\n at x"],
};

function aRun(number: number, testResults: RunReport["testResults"] | undefined, code: number | null): Run {
  const report = testResults && { testResults };
  return { name: `busy ${number}`, seed: 100 + number, code, report, log: `/out/busy-${number}.log` };
}

const good = aRun(1, [{ name: "/repo/test/a.test.ts", status: "passed", assertionResults: [passed] }], 0);
const bad = (number: number) =>
  aRun(number, [{ name: "/repo/test/a.test.ts", status: "failed", assertionResults: [passed, failed] }], 1);

test("a test that failed once is listed, with its seed and the line that tries it again", () => {
  const runs = [good, bad(2), aRun(3, good.report?.testResults, 0)];
  const failures = failuresOf(runs, "/repo/");
  expect(failures).toMatchObject([{ file: "test/a.test.ts", test: "b fails", runs: [{ name: "busy 2" }] }]);
  expect(failureLines(failures, runs)).toEqual([
    "",
    "test/a.test.ts > b fails",
    "  failed in 1 of 3 runs: busy 2",
    "  AssertionError: expected 1 to be 2",
    "  log:   /out/busy-2.log",
    "  again: npm run soak -- flakes --seed 102 test/a.test.ts",
    "",
    "1 failed at least once in 3 runs.",
  ]);
});

test("the most frequent comes first; a file that cannot be loaded is listed too", () => {
  const broken = { name: "/repo/test/b.test.ts", status: "failed", message: "SyntaxError: x", assertionResults: [] };
  const runs = [bad(1), bad(2), aRun(3, [broken], 1)];
  expect(failuresOf(runs, "/repo/").map(({ file, test, message, runs }) => [file, test, message, runs.length])).toEqual(
    [
      ["test/a.test.ts", "b fails", "AssertionError: expected 1 to be 2", 2],
      ["test/b.test.ts", undefined, "SyntaxError: x", 1],
    ],
  );
});

test.for([
  { name: "an error outside of all tests", run: aRun(1, good.report?.testResults, 1), words: "the run ended with 1" },
  { name: "a run that was killed", run: aRun(1, undefined, null), words: "the run ended with a signal" },
])("$name is a failure", ({ run, words }) => {
  expect(failuresOf([run], "/repo/")).toMatchObject([{ file: undefined, test: undefined, message: words }]);
});

test("what always passed is said so", () => {
  expect(failureLines([], [good])).toEqual(["Nothing failed in 1 run."]);
  expect(failureLines([], [])).toEqual(["Nothing was run."]);
});

test("files and counts are read; what makes no sense is refused", () => {
  expect(readFlakesOptions(["test/api", "--runs", "3", "--half-runs", "0"])).toMatchObject({
    files: ["test/api"],
    runs: 3,
    loops: 2,
    halfRuns: 0,
    seed: undefined,
  });
  expect(readFlakesOptions([])).toMatchObject({ files: [], runs: 20, halfRuns: 1 });
  expect(() => readFlakesOptions(["--runs", "-1"])).toThrow();
  expect(() => readFlakesOptions(["--runs", "many"])).toThrow("Cannot use --runs many: it is not a whole number");
  expect(() => readFlakesOptions(["--twice", "3"])).toThrow();
});

test("half of the CPUs are half of those that may be used", () => {
  expect(halfOfCPUs("0-1\n")).toBe("0");
  expect(halfOfCPUs("0-3,8")).toBe("0,1");
  expect(halfOfCPUs("2,5-7")).toBe("2,5");
  expect(() => halfOfCPUs("3")).toThrow("there is only one");
});
