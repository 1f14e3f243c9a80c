/**
 * Lists the tests that failed in at least one of many runs, with the command that repeats each failure. Pure. @module
 */

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
export interface Failure {
  /** Relative to the checkout; undefined: no file is known. */
  file: string | undefined;
  /** Undefined: the file failed, not a test in it. */
  test: string | undefined;
  /** First line of the first failure's message. */
  message: string;
  /** The runs with this failure, at least one. */
  runs: Run[];
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
