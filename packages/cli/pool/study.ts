/** Simulates a pool with claims as they came, as a file has them, or at a rate: reads the cluster, changes nothing. @module */
import { dueTimes } from "./arrivals.ts";
import type { Api } from "../../kube/api.ts";
import { arrivalsOf, type PoolObjects, startTimes } from "../../summary/pools.ts";
import type { Demand } from "./simulate.ts";
import { type PoolCurve, poolCurve } from "./sizes.ts";
import { readPools } from "./status.ts";

/** What to simulate. Times in seconds. */
export interface StudyOptions {
  namespace: string;
  /**
   * The pool. Undefined: the only one of the namespace; with `rate` or `trace` one that does not exist yet, which needs
   * `refillSeconds`, too.
   */
  name?: string | undefined;
  /** Wanted share of claims that get a member. @default {0.99} */
  target?: number | undefined;
  /** Claims per second, at random times of that mean, for `spanSeconds`; in place of the pool's own. */
  rate?: number | undefined;
  /** When claims come, as {@link parseTrace} reads it; in place of the pool's own. */
  trace?: number[] | undefined;
  /** How long claims come at `rate`. @default {3600} */
  spanSeconds?: number | undefined;
  /** In place of what is measured; see {@link Demand}. */
  refillSeconds?: number | undefined;
  startSeconds?: number | undefined;
}

/** How a pool would fare, and what that rests on. */
export interface PoolStudy extends PoolCurve {
  /** Undefined: there is no pool yet. */
  pool: { namespace: string; name: string; replicas: number } | undefined;
  target: number;
  demand: { source: "claims" | "rate" | "trace"; claims: number; spanSeconds: number };
  /** In seconds; `measured` is how many starts they are the mean of, 0: they were given. */
  refill: { seconds: number; measured: number };
  start: { seconds: number; measured: number };
}

const HOUR_SECONDS = 3600;
const SEED = 1;

/**
 * Simulates.
 *
 * @throws {RangeError} if options contradict each other, no pool is named and there are several, nobody has come to the
 * pool, or nothing says how fast it fills
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
    const lack = objects ? "no sandbox of it shows" : "nothing says";
    throw new RangeError(`Cannot simulate ${title(name)}: ${lack} how long a refill takes`);
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

/** Reads the pool; undefined: it does not exist yet. */
async function poolOf(api: Api, { namespace, name, rate, trace }: StudyOptions): Promise<PoolObjects | undefined> {
  if (name === undefined && (rate !== undefined || trace)) return undefined;
  const found = await readPools(api, namespace, name);
  if (found.length === 1) return found[0];
  if (found.length === 0) throw new RangeError(`Cannot simulate a pool: there is none in namespace "${namespace}"`);
  const names = found.map(({ pool }) => pool.metadata.name).sort();
  throw new RangeError(`Cannot simulate a pool: its name is missing, and there are several: ${names.join(", ")}`);
}

function demandOf(
  { name, rate, trace, spanSeconds = HOUR_SECONDS }: StudyOptions,
  objects: PoolObjects | undefined,
): { source: PoolStudy["demand"]["source"]; arrivals: number[]; spanSeconds: number } {
  if (rate !== undefined && trace) throw new RangeError("Cannot simulate a rate and a trace: say one of the two");
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
  return name === undefined ? "a pool that is not there" : `pool "${name}"`;
}

/**
 * Reads a trace: one claim per line, as seconds from whatever beginning, or as a time of RFC 3339; empty lines and what
 * follows a `#` mean nothing. Returns seconds, ascending.
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
