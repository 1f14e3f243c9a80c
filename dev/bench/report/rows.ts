/**
 * Combines the rounds of a shape by one implementation into one row of a report, and computes what an object cost.
 * @module
 */
import { median, type Result, type Summary, summary } from "../result.ts";

/** All rounds of one implementation with one shape in one size. */
export interface Run {
  shape: string;
  /**
   * The parameters that distinguish this size from others of the same shape, such as `replicas 30`; empty: there is
   * only one size.
   */
  size: string;
  implementation: string;
  /** In order of their rounds; at least one. */
  results: Result[];
}

/** Requests of one kind, whatever their status. */
export interface RequestRate {
  /** Absent: the sender is not known. */
  client?: string;
  verb: string;
  resource: string;
  /** Requests for each object that was asked for. */
  perObject: number;
}

/** What the processes of one name used. */
interface ProcessRate {
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
interface HookRate {
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

/** The cost of each object that was asked for; memory is the total. Undefined: not measured. */
export interface Cost {
  /** Requests that change something. */
  writes: number | undefined;
  reads: number | undefined;
  /** CPU milliseconds of the implementation's own processes. */
  cpu: number | undefined;
  /** CPU milliseconds of the cluster's processes: neither the implementation's own nor the load's. */
  clusterCPU: number | undefined;
  /** MiB: the sum of the maximum of each of its own processes. */
  memory: number | undefined;
}

const WRITES = ["create", "update", "patch", "apply", "delete", "deletecollection"];

const READS = ["get", "list", "watch"];

/** The load, and processes that run Pods in any cluster. */
const OTHERS = ["load", "kube-apiserver", "kube-scheduler", "kwok", "kubelet", "kube-controller-manager", "kubectl"];

const HOOKS = ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool", "hooks"];

const OURS = [...HOOKS, "engine", "engine 2", "keeper", "binder", "peer"];

/** Groups results by shape, then size, then implementation, each in the order of first occurrence. */
export function runsOf(results: readonly Result[]): Run[] {
  const implementations = distinct(results.map(({ implementation }) => implementation));
  return distinct(results.map(({ shape }) => shape)).flatMap((shape) => {
    const ofShape = results.filter((result) => result.shape === shape);
    const varying = varyingParameters(ofShape);
    const sizeOf = ({ parameters }: Result) => varying.map((name) => `${name} ${parameters[name] ?? "–"}`).join(", ");
    return distinct(ofShape.map(sizeOf)).flatMap((size) =>
      implementations.map((implementation) => ({
        shape,
        size,
        implementation,
        results: ofShape.filter((result) => result.implementation === implementation && sizeOf(result) === size)
          .sort((a, b) => a.round - b.round),
      }))
    );
  }).filter((run) => run.results.length > 0);
}

function varyingParameters(results: readonly Result[]): string[] {
  const names = distinct(results.flatMap(({ parameters }) => Object.keys(parameters)));
  return names.filter((name) => new Set(results.map(({ parameters }) => parameters[name])).size > 1);
}

/** Lists each value once, in the order of first occurrence. */
export function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

/** Returns the title of a shape, with its size if it has several: `by-members, replicas 30`. */
export function titleOf({ shape, size }: Pick<Run, "shape" | "size">): string {
  return size === "" ? shape : `${shape}, ${size}`;
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

/**
 * Computes the cost from a row. If the client of a request is not known, the request counts, because it may be the
 * implementation's.
 */
export function costOf({ requests, processes }: Pick<Row, "requests" | "processes">): Cost {
  const ours = processes.filter(({ name }) => isOurs(name));
  const cluster = processes.filter(({ name }) => !isOurs(name) && name !== "load");
  const asked = (verbs: string[]) =>
    sumOf(requests, (request) => isCounted(request) && verbs.includes(request.verb) ? request.perObject : 0);
  return {
    writes: asked(WRITES),
    reads: asked(READS),
    cpu: sumOf(ours, ({ cpuMsPerObject }) => cpuMsPerObject),
    clusterCPU: sumOf(cluster, ({ cpuMsPerObject }) => cpuMsPerObject),
    memory: sumOf(ours, ({ peakMiB }) => peakMiB),
  };
}

/**
 * Tells whether a process with this name is part of the implementation: a hook, Metacontroller, the keeper, the binder,
 * or the Go controller.
 */
export function isOurs(name: string): boolean {
  return OURS.includes(name);
}

function isCounted({ client }: RequestRate): boolean {
  return client === undefined || !OTHERS.includes(client);
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + value(item), 0);
}
