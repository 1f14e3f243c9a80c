/** Saves the API server work: limits how many unsuccessful reviews each requester can cause. @module */
import { Buffer } from "node:buffer";
import { createDeadlines } from "../../process/deadlines.ts";
import { createShelf } from "../../process/shelf.ts";
import { createBudget } from "../limits.ts";
import { type Refusal, tooMany } from "../refusal.ts";

/**
 * Limits for unknown tokens from one address, and for Sandbox names that one user (or the ServiceAccounts of a
 * namespace) may not connect to. Each costs the API server a request; successful ones do not count.
 */
export const REVIEWS_PER_SECOND = 20;
export const REVIEWS_AT_ONCE = 100;

interface QuestionOptions {
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
 * Asks the API server, at once or when it is this question's turn. Questions of one requester are asked in order,
 * unless `isPatient` is true.
 *
 * @param requester the client or user whose budget is used
 * @param isGood true: the answer uses no budget; an error uses as much as a bad answer
 * @returns the answer, or 429: the budget is used up, too many questions wait, or this one has waited too long
 * @throws what `ask` throws
 */
type Questions = <T>(
  requester: string,
  ask: () => Promise<T>,
  isGood: (answer: T) => boolean,
) => Promise<T | Refusal>;

/** Most waiting questions of one requester. */
const MOST_WAITING = 1000;
const LONGEST_WAIT_MS = 5000;
const TOO_LONG = "Too many requests wait for the API server's answer.";

interface Line {
  running: number;
  /** In order of arrival. */
  waiting: Set<Begin>;
  /** Fires when the budget has filled by one token; undefined: no question waits for that. */
  timer: NodeJS.Timeout | undefined;
}

type Begin = (refusal?: Refusal) => void;

/** Makes the review queue. Each requester has its own budget and its own queue. */
export function createQuestions({ perSecond, burst, detail, isPatient = false }: QuestionOptions): Questions {
  const budget = createBudget(perSecond, burst);
  const deadlines = createDeadlines(LONGEST_WAIT_MS);
  const lines = new Map<string, Line>();

  function lineOf(requester: string): Line {
    const line = lines.get(requester) ?? { running: 0, waiting: new Set(), timer: undefined };
    lines.set(requester, line);
    return line;
  }

  /**
   * Starts waiting questions while the budget allows. Running ones may return their token, so waiting ones are refused
   * only when none runs.
   */
  function serve(requester: string, line: Line): void {
    while (line.waiting.size > 0 && line.running < burst) {
      // The budget also fills while slow answers are pending.
      const seconds = budget(requester, performance.now());
      if (seconds > 0 && isPatient) return lookAgain(requester, line);
      if (seconds > 0 && line.running > 0) return;
      const begin = isPatient ? newestOf(line.waiting) : oldestOf(line.waiting);
      line.waiting.delete(begin);
      if (seconds === 0) line.running++;
      begin(seconds > 0 ? tooMany(detail, seconds) : undefined);
    }
    if (line.running > 0 || line.waiting.size > 0) return;
    clearTimeout(line.timer);
    lines.delete(requester);
  }

  function lookAgain(requester: string, line: Line): void {
    line.timer ??= setTimeout(() => {
      line.timer = undefined;
      serve(requester, line);
    }, 1000 / perSecond);
  }

  function turnOf(requester: string, line: Line): Promise<Refusal | undefined> {
    if (line.waiting.size >= MOST_WAITING) {
      if (!isPatient) return Promise.resolve(tooMany(TOO_LONG, 1));
      const oldest = oldestOf(line.waiting);
      line.waiting.delete(oldest);
      oldest(tooMany(detail, 1));
    }
    return new Promise((resolve) => {
      const end = deadlines.begin(() => {
        line.waiting.delete(begin);
        resolve(tooMany(isPatient ? detail : TOO_LONG, 1));
      });
      const begin: Begin = (refusal) => {
        end();
        resolve(refusal);
      };
      line.waiting.add(begin);
      serve(requester, line);
    });
  }

  return async (requester, ask, isGood) => {
    const line = lineOf(requester);
    const refusal = await turnOf(requester, line);
    if (refusal) return refusal;
    try {
      const answer = await ask();
      if (isGood(answer)) budget(requester, performance.now(), -1);
      return answer;
    } finally {
      line.running--;
      serve(requester, line);
    }
  };
}

function oldestOf(waiting: ReadonlySet<Begin>): Begin {
  return waiting.values().next().value as Begin;
}

function newestOf(waiting: ReadonlySet<Begin>): Begin {
  return [...waiting].at(-1) as Begin;
}

interface Remembered<T> {
  /** Returns the cached answer at `now` (milliseconds), else asks. Concurrent calls for one key share one request. */
  get(key: string, now: number, ask: () => Promise<T>): T | Promise<T>;
  /** Tells whether the last cached answer was good, even if it has expired. */
  wasGood(key: string): boolean;
}

/** How an answer is cached. */
export interface Worth {
  /** Bad answers never displace good ones. */
  isGood: boolean;
  /** How long the answer stays valid, in milliseconds. */
  ttlMs: number;
  /** The user whose share of the cache it uses. */
  owner: string;
}

interface Entry<T> {
  value: T;
  until: number;
}

/**
 * Makes a cache of `size` good answers and `size` bad ones. If it is full, the owner with the most entries loses its
 * oldest. Errors are not cached.
 *
 * @param worthOf undefined: the answer is not cached
 */
export function createMemory<T>(size: number, worthOf: (value: T) => Worth | undefined): Remembered<T> {
  const good = createShelf<Entry<T>>(size);
  const bad = createShelf<Entry<T>>(size);
  const running = new Map<string, Promise<T>>();

  function remember(key: string, value: T, now: number): void {
    const worth = worthOf(value);
    if (!worth) return;
    good.remove(key);
    bad.remove(key);
    const { isGood, ttlMs, owner } = worth;
    (isGood ? good : bad).add(key, { value, until: now + ttlMs }, owner);
  }

  return {
    get(key, now, ask) {
      const known = good.get(key) ?? bad.get(key);
      if (known && known.until > now) return known.value;
      const already = running.get(key);
      if (already) return already;
      const asked = ask().then((value) => {
        remember(key, value, now);
        return value;
      }).finally(() => running.delete(key));
      running.set(key, asked);
      return asked;
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

function claimsOf(token: string): { sub?: unknown; exp?: unknown } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".", 3)[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
