/** Combines several rounds of a shape by one implementation into one row of a report. @module */
import type { Result } from "../result.ts";
import { median, type Summary, summary } from "./percentiles.ts";
import { distinct, type Run, runsOf } from "./runs.ts";

/** Requests of one kind, whatever their status. */
export interface RequestRate {
  /** Absent: the API server did not tell who sent them. */
  client?: string;
  verb: string;
  resource: string;
  /** Requests for each object that was asked for. */
  perObject: number;
}

/** What the processes of one name used. */
export interface ProcessRate {
  name: string;
  /** Average of the rounds. */
  cpuSeconds: number;
  /** CPU time for each object that was asked for. */
  cpuMsPerObject: number;
  /** Average at the end of a round. */
  rssMiB: number;
  /** Maximum of all rounds. */
  peakMiB: number;
}

/** Calls of one endpoint of a hook. 1 KB is 1000 bytes. */
export interface HookRate {
  hook: string;
  /** Calls for each object that was asked for. */
  callsPerObject: number;
  requestKBPerCall: number;
  responseKBPerCall: number;
  msPerCall: number;
}

/** Objects and percentiles are of all rounds together. `perSecond` is the median of the rounds. */
export interface Row extends Summary {
  shape: string;
  /** How this size differs from others of the shape, such as `replicas 30`; empty: there is only one size. */
  size: string;
  implementation: string;
  parameters: Record<string, number>;
  rounds: number;
  /** Median of the rounds that have the figure. */
  figures: Record<string, number>;
  /** The most frequent first. */
  requests: RequestRate[];
  /** In the order of the first round. */
  processes: ProcessRate[];
  /** Sorted by name. */
  hooks: HookRate[];
  /** Violations of all rounds. If there are several rounds, each violation names its round. */
  violations: string[];
}

/** Creates one row for all rounds of a shape in one size by one implementation, in the order of `runsOf`. */
export function combine(results: readonly Result[]): Row[] {
  return runsOf(results).map(rowOf);
}

function rowOf({ shape, size, implementation, results }: Run): Row {
  const asked = sum(results.map((result) => result.asked));
  const pooled = summary({ asked, samples: results.flatMap(({ samples }) => samples) });
  // A round in which no object became Ready counts as a slow one. It is not left out.
  const rates = results.map((result) => summary(result).perSecond ?? 0);
  return {
    ...pooled,
    perSecond: pooled.perSecond === undefined ? undefined : median(rates),
    shape,
    size,
    implementation,
    parameters: results[0]?.parameters ?? {},
    rounds: results.length,
    figures: figuresOf(results),
    requests: requestsOf(results, asked),
    processes: processesOf(results, asked),
    hooks: hooksOf(results, asked),
    violations: results.flatMap(({ round, violations }) =>
      violations.map((violation) => results.length > 1 ? `round ${round}: ${violation}` : violation)
    ),
  };
}

function figuresOf(results: readonly Result[]): Record<string, number> {
  const names = distinct(results.flatMap(({ figures }) => Object.keys(figures)));
  return Object.fromEntries(names.flatMap((name) => {
    const middle = median(results.flatMap(({ figures }) => figures[name] ?? []));
    return middle === undefined ? [] : [[name, middle]];
  }));
}

function requestsOf(results: readonly Result[], asked: number): RequestRate[] {
  const counts = new Map<string, number>();
  for (const { client, verb, resource, count } of results.flatMap(({ requests }) => requests)) {
    const key = JSON.stringify({ client, verb, resource });
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return [...counts]
    .map(([key, count]): RequestRate => ({ ...JSON.parse(key), perObject: ratio(count, asked) }))
    .sort((a, b) => b.perObject - a.perObject);
}

function processesOf(results: readonly Result[], asked: number): ProcessRate[] {
  const names = distinct(results.flatMap(({ processes }) => processes.map(({ name }) => name)));
  return names.map((name) => {
    const rounds = results.map(({ processes }) => processes.filter((process) => process.name === name));
    const cpuSeconds = sum(rounds.flat().map((process) => process.cpuSeconds));
    return {
      name,
      cpuSeconds: cpuSeconds / results.length,
      cpuMsPerObject: ratio(cpuSeconds * 1000, asked),
      rssMiB: sum(rounds.flat().map((process) => process.rssMiB)) / results.length,
      peakMiB: Math.max(...rounds.map((round) => sum(round.map((process) => process.peakMiB)))),
    };
  });
}

function hooksOf(results: readonly Result[], asked: number): HookRate[] {
  const uses = results.flatMap(({ hooks }) => hooks);
  return distinct(uses.map(({ hook }) => hook)).sort().map((hook) => {
    const ofHook = uses.filter((use) => use.hook === hook);
    const calls = sum(ofHook.map((use) => use.calls));
    return {
      hook,
      callsPerObject: ratio(calls, asked),
      requestKBPerCall: ratio(sum(ofHook.map((use) => use.requestBytes)) / 1000, calls),
      responseKBPerCall: ratio(sum(ofHook.map((use) => use.responseBytes)) / 1000, calls),
      msPerCall: ratio(sum(ofHook.map((use) => use.seconds)) * 1000, calls),
    };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Returns the quotient; 0 if the divisor is 0. */
function ratio(value: number, of: number): number {
  return of === 0 ? 0 : value / of;
}
