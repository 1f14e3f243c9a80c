/**
 * Defines the results of a run, as they are in the JSON file, and summarises how long objects took and how many became
 * Ready per second. @module
 */

/** One object from its creation until it was Ready. */
export interface Sample {
  /** When it was asked for, in milliseconds since the measured part began. */
  at: number;
  /** Milliseconds from when its creation was due to the watch event that shows it Ready. */
  ms: number;
}

/** Requests of one kind that the API server answered during the measured part. */
export interface RequestCount {
  /** Name of the client process; undefined: not known, because the API server's counters do not contain it. */
  client?: string;
  /** As the API server names it: `create`, `update`, `patch`, `delete`, `get`, `list`, `watch`. */
  verb: string;
  /** With its subresource: `sandboxes`, `sandboxes/status`. */
  resource: string;
  /** HTTP status. */
  code: number;
  count: number;
}

/** What a process used during the measured part. */
export interface ProcessUse {
  name: string;
  cpuSeconds: number;
  /** Resident memory at the end, and the maximum, in MiB. */
  rssMiB: number;
  peakMiB: number;
}

/** Calls of one endpoint of one hook during the measured part. */
export interface HookUse {
  /** Hook and endpoint, such as `sandboxwarmpool/sync`. */
  hook: string;
  calls: number;
  /** Bytes of the bodies of all calls together. */
  requestBytes: number;
  responseBytes: number;
  /** Seconds in the hook, of all calls together. */
  seconds: number;
}

/** One run of a shape by one implementation. */
export interface Result {
  shape: string;
  /** What was measured: `this`, `against`, `peer`, or a name from the command line. */
  implementation: string;
  /** Starts at 1. */
  round: number;
  /** Size and rate of the shape as it was run. */
  parameters: Record<string, number>;
  /** Length of the measured part in seconds. */
  seconds: number;
  /** Number of objects that were asked for. `samples` contains those that became Ready. */
  asked: number;
  samples: Sample[];
  /** Further figures of the shape. Each name contains the unit: `fillPerSecond`. */
  figures: Record<string, number>;
  requests: RequestCount[];
  processes: ProcessUse[];
  hooks: HookUse[];
  /**
   * Resident memory over time in MiB, by process, with one value for each entry of `at` (seconds). Only for long
   * shapes.
   */
  memory?: { at: number[]; series: Record<string, number[]> };
  /** Violations of invariants, one sentence each. */
  violations: string[];
}

/** All measurements of one call of the bench. */
export interface Report {
  /** RFC 3339. */
  time: string;
  machine: { cores: number; memoryMiB: number; system: string };
  /**
   * `Metacontroller 4.17.2` or `the fake Metacontroller 0.2.0`; undefined: the bench has not started the
   * cluster.
   */
  engine?: string;
  /** The implementation with which the others are compared; undefined: none was run. */
  peer?: string;
  results: Result[];
}

/** Tells whether hookbox violated an invariant. Violations by the Go controller are only reported. */
export function isFaulty({ results, peer }: Pick<Report, "results" | "peer">): boolean {
  return results.some(({ implementation, violations }) => implementation !== peer && violations.length > 0);
}

/** Times are in milliseconds. Undefined: there were no objects, or no time, to compute the figure from. */
export interface Summary {
  asked: number;
  ready: number;
  /** Objects that became Ready, divided by the seconds from the first creation to the last Ready. */
  perSecond: number | undefined;
  p50: number | undefined;
  p95: number | undefined;
  p99: number | undefined;
  max: number | undefined;
}

/**
 * Returns the percentile by nearest rank: the smallest value for which at least `p` percent of the values are not
 * larger. The values can be in any order. Undefined: there are no values.
 *
 * @param p 0 (the smallest) to 100 (the largest)
 */
export function percentile(values: readonly number[], p: number): number | undefined {
  // The division comes last, because 55 / 100 * 100 is more than 55.
  const rank = Math.ceil(p * values.length / 100);
  return values.toSorted((a, b) => a - b)[Math.max(rank, 1) - 1];
}

/** Returns the middle value, or the mean of the two middle values; undefined: there are no values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const low = sorted[Math.ceil(sorted.length / 2) - 1];
  const high = sorted[Math.floor(sorted.length / 2)];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** Summarises one run. */
export function summary({ asked, samples }: Pick<Result, "asked" | "samples">): Summary {
  const ms = samples.map((sample) => sample.ms);
  return {
    asked,
    ready: samples.length,
    perSecond: perSecond(samples),
    p50: percentile(ms, 50),
    p95: percentile(ms, 95),
    p99: percentile(ms, 99),
    max: percentile(ms, 100),
  };
}

function perSecond(samples: readonly Sample[]): number | undefined {
  const first = samples.reduce((least, { at }) => Math.min(least, at), Infinity);
  const last = samples.reduce((most, { at, ms }) => Math.max(most, at + ms), -Infinity);
  return last > first ? samples.length / ((last - first) / 1000) : undefined;
}
