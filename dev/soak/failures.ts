/** Which tests failed in some of many runs, and how to see each again. Pure. @module */

/** Parts of vitest's JSON report that are read. */
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
  /** What HOOKBOX_TEST_SEED was. */
  seed: number;
  /** vitest's exit code; null: a signal ended it. */
  code: number | null;
  /** Absent if it wrote none. */
  report: RunReport | undefined;
  /** Where its output is. */
  log: string;
}

/** A test, a file, or a run as a whole, that failed at least once. */
export interface Failure {
  /** Relative to the checkout; undefined: no file is known. */
  file: string | undefined;
  /** Undefined: the file, not a test in it. */
  test: string | undefined;
  /** First line of the first message. */
  message: string;
  /** The runs in which it failed, at least one. */
  runs: Run[];
}

/** Collects what failed, the most frequent first. */
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
    // An error outside of all tests, or an end by a signal.
    if (run.code !== 0 && named === 0) add(run, undefined, undefined, `the run ended with ${run.code ?? "a signal"}`);
  }
  return [...found.values()].sort((a, b) => b.runs.length - a.runs.length);
}

function firstLine(text: string): string {
  return text.split("\n").find((line) => line.trim() !== "")?.trim() ?? "no message";
}

/** Renders them for a terminal: what, how often, why, with which seed, and the line that tries it again. */
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
