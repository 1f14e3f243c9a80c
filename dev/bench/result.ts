/** What one run of one shape gave: plain data, as it stands in the JSON file. @module */

/** One object from its creation until it was Ready. */
export interface Sample {
  /** When it was asked for: milliseconds since the measured part began. */
  at: number;
  /** From the request that created it, as it was due, to the watch event that shows it Ready: milliseconds. */
  ms: number;
}

/** Requests of one kind that the API server answered during the measured part. */
export interface RequestCount {
  /** Name of the process that asked; undefined where the API server's counters do not tell. */
  client?: string;
  /** As the API server writes it: `create`, `update`, `patch`, `delete`, `get`, `list`, `watch`. */
  verb: string;
  /** With subresource: `sandboxes`, `sandboxes/status`. */
  resource: string;
  /** HTTP status. */
  code: number;
  count: number;
}

/** What a process used during the measured part. */
export interface ProcessUse {
  name: string;
  cpuSeconds: number;
  /** Resident memory at the end, and the most that was seen; MiB. */
  rssMiB: number;
  peakMiB: number;
}

/** Calls of one endpoint of one hook during the measured part. */
export interface HookUse {
  /** `sandboxwarmpool/sync`. */
  hook: string;
  calls: number;
  /** Bodies only, all calls together. */
  requestBytes: number;
  responseBytes: number;
  /** Time in the hook, all calls together. */
  seconds: number;
}

/** One run of a shape by one implementation. */
export interface Result {
  shape: string;
  /** What was measured: `this`, `against`, `peer`, or a name that the command line gave. */
  implementation: string;
  /** From 1. */
  round: number;
  /** Size and rate of the shape, as it was run. */
  parameters: Record<string, number>;
  /** Length of the measured part. */
  seconds: number;
  /** Objects that were asked for; `samples` holds those that became Ready. */
  asked: number;
  samples: Sample[];
  /** Further figures of the shape, by name with unit: `fillPerSecond`. */
  figures: Record<string, number>;
  requests: RequestCount[];
  processes: ProcessUse[];
  hooks: HookUse[];
  /** Resident memory over time, MiB: by process, one value per entry of `at` (seconds). Only of long shapes. */
  memory?: { at: number[]; series: Record<string, number[]> };
  /** What must never happen and did, one sentence each. */
  violations: string[];
}

/** Everything that one call of the bench measured. */
export interface Report {
  /** RFC 3339. */
  time: string;
  machine: { cores: number; memoryMiB: number; system: string };
  /** `Metacontroller 4.17.2` or `the stand-in for Metacontroller 0.2.0`; undefined where the cluster is not ours. */
  engine?: string;
  /** Which implementation is the peer that the others are compared with; undefined where none was run. */
  peer?: string;
  results: Result[];
}

/** Tells whether hookbox did what must never happen; what the peer does is only reported. */
export function isFaulty({ results, peer }: Pick<Report, "results" | "peer">): boolean {
  return results.some(({ implementation, violations }) => implementation !== peer && violations.length > 0);
}
