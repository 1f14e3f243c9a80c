/** Collects output and results of code up to a limit, because a sandbox may send any amount. @module */
import type { Execution, Result } from "./execution.ts";

/** Adds output and results to an execution. */
export interface Gatherer {
  /** The output and results so far. */
  execution: Execution;
  addOutput(stream: "stdout" | "stderr", text: string): void;
  addResult(result: Result): void;
}

const MOST_CHARACTERS = 16 << 20;
const RESULTS_CHARACTERS = 64 << 20;
const MOST_RESULTS = 10_000;
/** A short string needs more memory than its characters, so this many pieces are joined into one. */
const PIECES = 4096;
/** What a value counts in addition to its characters. */
const VALUE_CHARACTERS = 32;

/** Creates a gatherer for an execution that has not started. @param most the limits, from the options of `runCode` */
export function createGatherer(
  most: { maxOutputLength?: number | undefined; maxResultsLength?: number | undefined },
): Gatherer {
  const { maxOutputLength = MOST_CHARACTERS, maxResultsLength = RESULTS_CHARACTERS } = most;
  const execution: Execution = { results: [], logs: { stdout: [], stderr: [] }, executionCount: 0 };
  const { results, logs } = execution;
  const keepers = {
    stdout: createKeeper(logs.stdout, maxOutputLength),
    stderr: createKeeper(logs.stderr, maxOutputLength),
  };
  let length = 0;
  return {
    execution,
    addOutput(stream, text) {
      if (!keepers[stream](text)) execution.truncated = true;
    },
    addResult(result) {
      // Checked before the result is added, so that a single result is always kept, however long it is.
      if (length >= maxResultsLength || results.length === MOST_RESULTS) {
        execution.truncated = true;
        return;
      }
      length += lengthOf(result);
      results.push(result);
      if (result.isMainResult && result.text !== undefined) execution.text = result.text;
    },
  };
}

/** Returns a function that appends text up to the limit, and returns whether all of the text was kept. */
function createKeeper(pieces: string[], most: number): (text: string) => boolean {
  let left = most;
  let joined = 0;
  return (text) => {
    const kept = text.slice(0, Math.max(0, left));
    left -= kept.length;
    if (kept !== "") pieces.push(kept);
    if (pieces.length - joined === PIECES) pieces.push(pieces.splice(joined++).join(""));
    return kept.length === text.length;
  };
}

function lengthOf(value: unknown): number {
  if (typeof value === "string") return VALUE_CHARACTERS + value.length;
  if (typeof value !== "object" || value === null) return VALUE_CHARACTERS;
  const inner: unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
  return inner.reduce<number>((sum, one) => sum + lengthOf(one), VALUE_CHARACTERS);
}
