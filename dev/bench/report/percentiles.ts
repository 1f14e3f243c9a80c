/** Summarises how long objects took and how many became Ready per second. @module */
import type { Result, Sample } from "../result.ts";

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
