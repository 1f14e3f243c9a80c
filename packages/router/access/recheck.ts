/** Ends open requests and streams when their client's token expires or the client may no longer connect. @module */
import type { EventEmitter } from "node:events";
import { createDeadlines } from "../../process/clock.ts";
import { isRefusal, type Refusal } from "../refusal.ts";

/** A request or stream that may stay open for long. */
interface OpenRequest {
  /** Emits `close` when the request or stream has ended. */
  stream: Pick<EventEmitter, "once">;
  /**
   * When the token expires, in seconds since the epoch; undefined: not known. If it has expired already, `check`
   * decides.
   */
  expires: number | undefined;
  /** Checks again whether the client may connect. Returns a refusal if not, otherwise any other object. */
  check(): object | Promise<object>;
  /** Ends the request or stream; called at most once, and not after `close`. */
  end(refusal: Refusal): void;
}

/** Watches a request or stream until it is over. */
export type Recheck = (open: OpenRequest) => void;

/**
 * A stream ends if so many checks in a row fail. Fewer failures are tolerated, because the API server may be down for a
 * moment.
 */
const MAX_FAILED_CHECKS = 10;
const EXPIRED: Refusal = {
  status: 401,
  detail: "The token has expired.",
  headers: { "WWW-Authenticate": "Bearer" },
};
const CHECK_FAILED: Refusal = { status: 500, detail: "Cannot check whether the client may still connect." };

/**
 * Creates the function that rechecks open requests and streams.
 *
 * @param everyMs time between two checks, in milliseconds; 0: a stream ends only with its token
 */
export function createRecheck(everyMs: number): Recheck {
  const periodMs = everyMs || EXPIRY_PERIOD_MS;
  const deadlines = createDeadlines(periodMs);
  return ({ stream, expires, check, end }) => {
    const expiresAt = expires !== undefined && expires * 1000 > Date.now() ? expires * 1000 : Infinity;
    let isOver = false;
    let failedChecks = 0;
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    const finish = (refusal?: Refusal) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      stop();
      if (refusal) end(refusal);
    };
    const checkAgain = async () => {
      const decision = everyMs === 0 ? {} : await Promise.resolve().then(check).catch(() => CHECK_FAILED);
      failedChecks = isRefusal(decision) && !isDenial(decision) ? failedChecks + 1 : 0;
      if (isRefusal(decision) && (isDenial(decision) || failedChecks >= MAX_FAILED_CHECKS)) return finish(decision);
      scheduleNext();
    };
    const scheduleNext = () => {
      if (isOver) return;
      const leftMs = expiresAt - Date.now();
      // Most requests end long before the next check, so they share one timer.
      if (leftMs < periodMs) timer = setTimeout(() => finish(EXPIRED), Math.max(0, leftMs));
      else stop = deadlines.begin(() => void checkAgain());
    };
    stream.once("close", () => finish());
    scheduleNext();
  };
}

/**
 * If there are no checks, the time until the next look at the expiry of a token, in milliseconds. Timers of Node cannot
 * be longer than 24.8 days.
 */
const EXPIRY_PERIOD_MS = 24 * 60 * 60 * 1000;

/** Returns whether a refusal denies access. Other refusals mean that the check failed. */
function isDenial({ status }: Refusal): boolean {
  return status < 500 && status !== 429;
}
