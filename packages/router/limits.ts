/**
 * Limits how many requests of a client, user or namespace run at a time, and how often each may do something.
 * @module
 */
import { type Refusal, tooMany } from "./refusal.ts";

/** A function that frees the slot again, or the refusal if no slot is free. */
type Slot = (() => void) | Refusal;

/** Takes a slot for a request to a sandbox of `namespace`. */
export type NamespaceLimit = (namespace: string) => Slot;

/**
 * Takes a slot from each of `takers` in turn, and frees the slots when `client` closes.
 *
 * @param takers return undefined if this limit does not apply
 * @returns the first refusal; undefined: all slots were taken
 */
export function takeSlots(
  client: { once(event: "close", listener: () => void): unknown },
  takers: (() => Slot | undefined)[],
): Refusal | undefined {
  for (const take of takers) {
    const slot = take();
    if (typeof slot === "object") return slot;
    if (slot) client.once("close", slot);
  }
  return undefined;
}

/**
 * Creates a limit of `most` slots in all. A namespace gets another slot only while it has fewer slots than are free, so
 * that one namespace cannot use up all of them.
 *
 * @param whatFor what the requests with a slot do; part of the refusal's text
 */
export function createNamespaceLimit(most: number, whatFor: string): NamespaceLimit {
  let taken = 0;
  const takenBy = new Map<string, number>();
  return (namespace) => {
    const own = takenBy.get(namespace) ?? 0;
    if (own >= most - taken) {
      const detail = `${own} requests ${whatFor} of namespace ${namespace} already, ${taken} in all.`;
      return { status: 503, detail, headers: { "Retry-After": "1" } };
    }
    taken++;
    takenBy.set(namespace, own + 1);
    return () => {
      taken--;
      const left = (takenBy.get(namespace) ?? 0) - 1;
      if (left > 0) takenBy.set(namespace, left);
      else takenBy.delete(namespace);
    };
  };
}

interface ClientLimitOptions {
  /** Requests of one client per second; the burst is twice as much; 0: no limit. */
  clientRequestsPerSecond: number;
  /** Open requests and streams of one client; 0: no limit. */
  clientMaxConcurrent: number;
}

/** Counts a request of a client at `now` (milliseconds). Returns a function to call at its end, or a refusal. */
export type ClientLimits = (client: string, now: number) => (() => void) | Refusal;

/** Creates the limits of clients; undefined: there is no limit. */
export function createClientLimits(
  { clientRequestsPerSecond, clientMaxConcurrent }: ClientLimitOptions,
): ClientLimits | undefined {
  if (clientRequestsPerSecond === 0 && clientMaxConcurrent === 0) return undefined;
  const rateLimit = createRateLimit(clientRequestsPerSecond, Math.max(2 * clientRequestsPerSecond, 1));
  const running = new Map<string, number>();
  return (client, now) => {
    const count = running.get(client) ?? 0;
    if (clientMaxConcurrent > 0 && count >= clientMaxConcurrent) {
      return tooMany(`${count} requests of this client run already.`, 1);
    }
    const seconds = rateLimit(client, now);
    if (seconds > 0) {
      return tooMany(`More than ${clientRequestsPerSecond} requests of this client per second.`, seconds);
    }
    running.set(client, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (running.get(client) ?? 1) - 1;
      if (left === 0) running.delete(client);
      else running.set(client, left);
    };
  };
}

/**
 * Takes a slot for `who`. Returns a function that frees the slot (repeated calls have no effect); undefined: no slot is
 * free.
 */
export type ConcurrencyLimit = (who: string) => (() => void) | undefined;

/** Creates a limit of `most` slots in all. One user or address can have `each` of them. */
export function createConcurrencyLimit(most: number, each: number): ConcurrencyLimit {
  const takenBy = new Map<string, number>();
  let all = 0;
  return (who) => {
    const before = takenBy.get(who) ?? 0;
    if (all >= most || before >= each) return undefined;
    all += 1;
    takenBy.set(who, before + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      all -= 1;
      const left = (takenBy.get(who) ?? 1) - 1;
      if (left > 0) takenBy.set(who, left);
      else takenBy.delete(who);
    };
  };
}

/**
 * Takes one token from the bucket of `key` at `now` (milliseconds); `tokens` -1 returns one. Returns 0 if there was a
 * token, otherwise the seconds until there is one.
 */
export type RateLimit = (key: string, now: number, tokens?: 1 | -1) => number;

interface Bucket {
  tokens: number;
  at: number;
}

/** If there are more buckets, the full ones are removed: a new bucket is full, too. */
const MANY = 10_000;

/**
 * Creates a set of buckets that hold up to `burst` tokens and get `perSecond` new tokens per second.
 *
 * @param perSecond 0: no limit
 */
export function createRateLimit(perSecond: number, burst: number): RateLimit {
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
