/**
 * Reduces the reviews at the API server: a queue limits the unsuccessful reviews of each requester, and a cache stores
 * verdicts.
 * @module
 */
import { Buffer } from "node:buffer";
import { createDeadlines } from "../../process/clock.ts";
import { createSharedCache } from "../../process/sharedcache.ts";
import { createRateLimit } from "../limits.ts";
import { type Refusal, tooMany } from "../refusal.ts";

/**
 * Limits for unknown tokens from one address, and for Sandbox names that one user (or the ServiceAccounts of a
 * namespace) may not connect to. Each costs the API server a request; successful ones do not count.
 */
export const REVIEWS_PER_SECOND = 20;
export const REVIEWS_AT_ONCE = 100;

interface ReviewQueueOptions {
  /** Unsuccessful reviews per second for each requester; `burst` is how many may happen at once. */
  perSecond: number;
  burst: number;
  /** Text of the refusal if the budget is used up. */
  detail: string;
  /**
   * What happens when unsuccessful reviews have used up the budget. True: reviews wait until it fills again, and the
   * newest goes first. Several clients may share one requester, such as an address: one client must not block the
   * others. False: reviews are refused. @default {false}
   */
  isPatient?: boolean;
}

/**
 * Sends a review to the API server, at once or when it is its turn. The reviews of one requester are sent in order,
 * unless `isPatient` is true.
 *
 * @param requester the client or user whose budget is used
 * @param isGood true: the answer uses no budget; an error uses as much as a bad answer
 * @returns the answer, or 429: the budget is used up, too many reviews wait, or this review has waited too long
 * @throws what `ask` throws
 */
type ReviewQueue = <T>(
  requester: string,
  ask: () => Promise<T>,
  isGood: (answer: T) => boolean,
) => Promise<T | Refusal>;

/** Most waiting reviews of one requester. */
const MOST_WAITING = 1000;
const LONGEST_WAIT_MS = 5000;
const WAITED_TOO_LONG = "Too many requests wait for the API server's answer.";

interface RequesterQueue {
  running: number;
  /** In order of arrival. */
  waiting: Set<StartReview>;
  /** Fires when the budget has filled by one token; undefined: no review waits for that. */
  timer: NodeJS.Timeout | undefined;
}

type StartReview = (refusal?: Refusal) => void;

/** Creates the review queue. Each requester has its own budget and its own queue. */
export function createReviewQueue({ perSecond, burst, detail, isPatient = false }: ReviewQueueOptions): ReviewQueue {
  const budget = createRateLimit(perSecond, burst);
  const deadlines = createDeadlines(LONGEST_WAIT_MS);
  const queues = new Map<string, RequesterQueue>();

  function queueOf(requester: string): RequesterQueue {
    const queue = queues.get(requester) ?? { running: 0, waiting: new Set(), timer: undefined };
    queues.set(requester, queue);
    return queue;
  }

  /**
   * Starts waiting reviews while the budget allows. Running reviews may return their token, so waiting reviews are
   * refused only when none is running.
   */
  function serve(requester: string, queue: RequesterQueue): void {
    while (queue.waiting.size > 0 && queue.running < burst) {
      // The budget also fills while slow answers are pending.
      const seconds = budget(requester, performance.now());
      if (seconds > 0 && isPatient) return serveLater(requester, queue);
      if (seconds > 0 && queue.running > 0) return;
      const begin = isPatient ? newestOf(queue.waiting) : oldestOf(queue.waiting);
      queue.waiting.delete(begin);
      if (seconds === 0) queue.running++;
      begin(seconds > 0 ? tooMany(detail, seconds) : undefined);
    }
    if (queue.running > 0 || queue.waiting.size > 0) return;
    clearTimeout(queue.timer);
    queues.delete(requester);
  }

  function serveLater(requester: string, queue: RequesterQueue): void {
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      serve(requester, queue);
    }, 1000 / perSecond);
  }

  function turnOf(requester: string, queue: RequesterQueue): Promise<Refusal | undefined> {
    if (queue.waiting.size >= MOST_WAITING) {
      if (!isPatient) return Promise.resolve(tooMany(WAITED_TOO_LONG, 1));
      const oldest = oldestOf(queue.waiting);
      queue.waiting.delete(oldest);
      oldest(tooMany(detail, 1));
    }
    return new Promise((resolve) => {
      const end = deadlines.begin(() => {
        queue.waiting.delete(begin);
        resolve(tooMany(isPatient ? detail : WAITED_TOO_LONG, 1));
      });
      const begin: StartReview = (refusal) => {
        end();
        resolve(refusal);
      };
      queue.waiting.add(begin);
      serve(requester, queue);
    });
  }

  return async (requester, ask, isGood) => {
    const queue = queueOf(requester);
    const refusal = await turnOf(requester, queue);
    if (refusal) return refusal;
    try {
      const answer = await ask();
      if (isGood(answer)) budget(requester, performance.now(), -1);
      return answer;
    } finally {
      queue.running--;
      serve(requester, queue);
    }
  };
}

function oldestOf(waiting: ReadonlySet<StartReview>): StartReview {
  return waiting.values().next().value as StartReview;
}

function newestOf(waiting: ReadonlySet<StartReview>): StartReview {
  return [...waiting].at(-1) as StartReview;
}

/** Answers of the API server. A good answer is a valid token, or a user who is allowed to connect. */
interface VerdictCache<T> {
  /**
   * Returns the cached answer at `now` (milliseconds), else calls `ask`. Concurrent calls for one key share one
   * request.
   */
  get(key: string, now: number, ask: () => Promise<T>): T | Promise<T>;
  /** Tells whether the last cached answer was good, even if it has expired. */
  wasGood(key: string): boolean;
}

/** How an answer is cached. */
export interface CacheRule {
  /** Bad answers never displace good ones. */
  isGood: boolean;
  /** How long the answer stays valid, in milliseconds. */
  ttlMs: number;
  /** The user whose share of the cache it uses. */
  owner: string;
}

interface CachedVerdict<T> {
  value: T;
  until: number;
}

/**
 * Creates a cache of `size` good answers and `size` bad ones. If it is full, the owner with the most entries loses its
 * oldest. Errors are not cached.
 *
 * @param ruleOf undefined: the answer is not cached
 */
export function createVerdictCache<T>(size: number, ruleOf: (value: T) => CacheRule | undefined): VerdictCache<T> {
  const good = createSharedCache<CachedVerdict<T>>(size);
  const bad = createSharedCache<CachedVerdict<T>>(size);
  const running = new Map<string, Promise<T>>();

  function store(key: string, value: T, now: number): void {
    const rule = ruleOf(value);
    if (!rule) return;
    good.remove(key);
    bad.remove(key);
    const { isGood, ttlMs, owner } = rule;
    (isGood ? good : bad).add(key, { value, until: now + ttlMs }, owner);
  }

  return {
    get(key, now, ask) {
      const cached = good.get(key) ?? bad.get(key);
      if (cached && cached.until > now) return cached.value;
      const underWay = running.get(key);
      if (underWay) return underWay;
      const request = ask().then((value) => {
        store(key, value, now);
        return value;
      }).finally(() => running.delete(key));
      running.set(key, request);
      return request;
    },
    wasGood: (key) => good.get(key) !== undefined,
  };
}

/**
 * Returns the user whose budget and cache share count. All ServiceAccounts of a namespace count as one user, because a
 * user who may create ServiceAccounts could have any number of them.
 */
export function requesterOf(username: string): string {
  return /^system:serviceaccount:[^:]+(?=:)/.exec(username)?.[0] ?? username;
}

/**
 * Returns the holder that a token names: a user, or all ServiceAccounts of a namespace.
 *
 * @returns the token itself if it names no holder
 */
export function holderOf(token: string): string {
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? requesterOf(sub) : token;
}

/** Returns when a token expires, in seconds since the epoch; undefined: the token does not say. */
export function expiryOf(token: string): number | undefined {
  const { exp } = claimsOf(token);
  return typeof exp === "number" && Number.isFinite(exp) ? exp : undefined;
}

/** Tells whether a token says that it is for this audience. It may lie: the API server decides. */
export function claimsAudience(token: string, audience: string): boolean {
  const { aud } = claimsOf(token);
  return aud === audience || (Array.isArray(aud) && aud.includes(audience));
}

function claimsOf(token: string): { sub?: unknown; exp?: unknown; aud?: unknown } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".", 3)[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
