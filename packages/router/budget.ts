/** How often something may be done, by whom: a bucket of tokens for each. Knows no clock. @module */

/**
 * Takes one token of `key` at `now` (milliseconds); -1 gives it back. Returns 0, or after how many seconds there is one
 * again.
 */
export type Budget = (key: string, now: number, tokens?: 1 | -1) => number;

interface Bucket {
  tokens: number;
  at: number;
}

/** Buckets that are full again are forgotten once there are so many. */
const MANY = 10_000;

/**
 * Makes buckets that hold `burst` tokens and fill at `perSecond`.
 *
 * @param perSecond 0: no limit
 */
export function createBudget(perSecond: number, burst: number): Budget {
  const buckets = new Map<string, Bucket>();
  const filled = ({ tokens, at }: Bucket, now: number) => Math.min(burst, tokens + (now - at) / 1000 * perSecond);
  return (key, now, tokens = 1) => {
    if (perSecond === 0) return 0;
    const bucket = buckets.get(key) ?? { tokens: burst, at: now };
    bucket.tokens = filled(bucket, now);
    bucket.at = now;
    buckets.set(key, bucket);
    if (buckets.size > MANY) {
      for (const [other, each] of buckets) if (other !== key && filled(each, now) >= burst) buckets.delete(other);
    }
    if (bucket.tokens < tokens) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
    bucket.tokens = Math.min(burst, bucket.tokens - tokens);
    return 0;
  };
}
