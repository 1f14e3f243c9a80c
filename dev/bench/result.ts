/** Types of the results of a run, as they are in the JSON file. @module */

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
