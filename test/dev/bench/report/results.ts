/** Builders of results for tests of reports. @module */
import type { Report, RequestCount, Result } from "../../../../dev/bench/result.ts";

/** One run in which two of two objects became Ready, after 100 and 300 ms; nothing else was measured. */
export function aResult(changes: Partial<Result> = {}): Result {
  return {
    shape: "claims",
    implementation: "this",
    round: 1,
    parameters: { count: 2, replicas: 10 },
    seconds: 1,
    asked: 2,
    samples: [{ at: 0, ms: 100 }, { at: 700, ms: 300 }],
    figures: {},
    requests: [],
    processes: [],
    hooks: [],
    violations: [],
    ...changes,
  };
}

export function aRequest(changes: Partial<RequestCount> = {}): RequestCount {
  return { client: "engine", verb: "patch", resource: "sandboxes", code: 200, count: 2, ...changes };
}

export function aReport(results: Result[], changes: Partial<Report> = {}): Report {
  const machine = { cores: 2, memoryMiB: 16_000, system: "Linux" };
  return { time: "2026-11-21T12:34:56.789Z", machine, engine: "Metacontroller 4.17.2", results, ...changes };
}

/** Freezes all the way down, so that writing to it throws. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}
