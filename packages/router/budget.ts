/** Limits how often each client, user or namespace may do something, with a token bucket for each. @module */

/**
 * Takes one token from the bucket of `key` at `now` (milliseconds); `tokens` -1 returns one. Returns 0 if there was a
 * token, otherwise the seconds until there is one.
 */
export type Budget = (key: string, now: number, tokens?: 1 | -1) => number;

interface Bucket {
  tokens: number;
  at: number;
}

/** If there are more buckets, the full ones are removed: a new bucket is full, too. */
const MANY = 10_000;

/**
 * Makes a set of buckets that hold up to `burst` tokens and get `perSecond` new tokens per second.
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
