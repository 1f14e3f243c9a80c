/** Simulates a pool with its recent claims, the claims of a file, or claims at a rate. @module */
import type { Api } from "../../kube/api.ts";
import { arrivalsOf, type PoolObjects, startTimes } from "../../summary/pools.ts";
import { type Demand, dueTimes, type PoolCurve, poolCurve } from "./simulate.ts";
import { readPools } from "./status.ts";

/** Input of the simulation. Times in seconds. */
export interface StudyOptions {
  namespace: string;
  /**
   * Name of the pool. Undefined: the only pool of the namespace. With `rate` or `trace`, undefined means a pool that
   * does not exist yet; `refillSeconds` is then required.
   */
  name?: string | undefined;
  /** Wanted share of claims that get a Sandbox of the pool. @default {0.99} */
  target?: number | undefined;
  /** Average number of claims per second, at random times, for `spanSeconds`. Replaces the pool's own claims. */
  rate?: number | undefined;
  /** Times of claims, as returned by {@link parseTrace}. Replaces the pool's own claims. */
  trace?: number[] | undefined;
  /** How long claims arrive at `rate`. @default {3600} */
  spanSeconds?: number | undefined;
  /** Replace the measured values; see {@link Demand}. */
  refillSeconds?: number | undefined;
  startSeconds?: number | undefined;
}

/** The results, and the input on which they are based. */
export interface PoolStudy extends PoolCurve {
  /** Undefined if there is no pool yet. */
  pool: { namespace: string; name: string; replicas: number } | undefined;
  target: number;
  demand: { source: "claims" | "rate" | "trace"; claims: number; spanSeconds: number };
  /** In seconds. `measured` is the number of starts that were averaged; 0 if the value was given. */
  refill: { seconds: number; measured: number };
  start: { seconds: number; measured: number };
}

const HOUR_SECONDS = 3600;
const SEED = 1;

/**
 * Runs the simulation.
 *
 * @throws {RangeError} if options contradict each other, if no pool is named and there are several, if the pool had no
 * claims, or if it is not known how fast its Sandboxes start
 * @throws {SandboxError} if there is no such pool, or it cannot be read
 */
export async function poolSimulation(api: Api, options: StudyOptions): Promise<PoolStudy> {
  const { namespace, target = 0.99 } = options;
  if (!(target > 0 && target <= 1)) {
    throw new RangeError(`Cannot aim at a hit rate of ${target}: it is not above 0 and at most 1`);
  }
  const objects = await poolOf(api, options);
  const name = objects?.pool.metadata.name;
  const { source, arrivals, spanSeconds } = demandOf({ ...options, name }, objects);
  const refill = speedOf(options.refillSeconds, objects, "warm");
  if (!refill) {
    const source = objects ? "no Sandbox of it shows" : "refillSeconds is not set, and no pool shows";
    throw new RangeError(`Cannot simulate ${title(name)}: ${source} how long a refill takes`);
  }
  const start = speedOf(options.startSeconds, objects, "cold") ?? refill;
  const demand: Demand = { arrivals, refillSeconds: refill.seconds, startSeconds: start.seconds, spanSeconds };
  const replicas = objects?.pool.spec.replicas;
  return {
    pool: objects && name !== undefined ? { namespace, name, replicas: replicas ?? 0 } : undefined,
    target,
    demand: { source, claims: arrivals.length, spanSeconds },
    refill,
    start,
    ...poolCurve(demand, target, replicas),
  };
}

/** Reads the pool; undefined if it does not exist yet. */
async function poolOf(api: Api, { namespace, name, rate, trace }: StudyOptions): Promise<PoolObjects | undefined> {
  if (name === undefined && (rate !== undefined || trace)) return undefined;
  const found = await readPools(api, namespace, name, true);
  if (found.length === 1) return found[0];
  if (found.length === 0) throw new RangeError(`Cannot simulate a pool: there is none in namespace "${namespace}"`);
  const names = found.map(({ pool }) => pool.metadata.name).sort();
  throw new RangeError(`Cannot simulate a pool: its name is missing, and there are several: ${names.join(", ")}`);
}

function demandOf(
  { name, rate, trace, spanSeconds = HOUR_SECONDS }: StudyOptions,
  objects: PoolObjects | undefined,
): { source: PoolStudy["demand"]["source"]; arrivals: number[]; spanSeconds: number } {
  if (rate !== undefined && trace) throw new RangeError("Cannot simulate a rate and a trace together");
  if (rate !== undefined) {
    if (!(rate > 0)) throw new RangeError(`Cannot simulate ${rate} claims per second: it is not above 0`);
    const times = dueTimes(Math.ceil(2 * rate * spanSeconds) + 10, { kind: "poisson", perSecond: rate, seed: SEED });
    return { source: "rate", arrivals: times.map((ms) => ms / 1000).filter((at) => at <= spanSeconds), spanSeconds };
  }
  const times = trace ?? (objects ? arrivalsOf(objects) : []);
  const [first] = times;
  if (first === undefined) {
    throw new RangeError(`Cannot simulate ${title(name)}: ${trace ? "the trace is empty" : "it has no claims"}`);
  }
  const arrivals = times.map((at) => at - first);
  return { source: trace ? "trace" : "claims", arrivals, spanSeconds: arrivals.at(-1) ?? 0 };
}

function speedOf(given: number | undefined, objects: PoolObjects | undefined, launchType: "warm" | "cold") {
  if (given !== undefined) {
    if (!(given >= 0)) throw new RangeError(`Cannot simulate starts of ${given} s: it is not a length of time`);
    return { seconds: given, measured: 0 };
  }
  const { mean, count } = objects ? startTimes(objects, launchType) : { mean: undefined, count: 0 };
  return mean === undefined ? undefined : { seconds: mean, measured: count };
}

function title(name: string | undefined): string {
  return name === undefined ? "a pool that does not exist" : `pool "${name}"`;
}

/**
 * Parses a trace: one claim per line, as seconds from any starting point, or as a time in RFC 3339. Empty lines and
 * text after `#` are ignored. Returns seconds, ascending.
 *
 * @throws {RangeError} if a line is neither
 */
export function parseTrace(text: string): number[] {
  return text.split("\n").flatMap((line, index) => {
    const word = line.replace(/#.*/, "").trim();
    if (word === "") return [];
    const seconds = /^\d+(\.\d+)?$/.test(word) ? Number(word) : Date.parse(word) / 1000;
    if (!Number.isNaN(seconds)) return [seconds];
    throw new RangeError(`Cannot read line ${index + 1} of the trace: "${word}" is neither seconds nor a time`);
  }).sort((a, b) => a - b);
}
