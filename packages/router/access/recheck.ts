/** Ends open requests and streams when their client's token expires or the client may no longer connect. @module */
import type { EventEmitter } from "node:events";
import { createDeadlines } from "../../process/clock.ts";
import { isRefusal, type Refusal } from "../refusal.ts";

/** A request or stream that may stay open for long. */
interface OpenRequest {
  /** Emits `close` when the request or stream is over. */
  client: Pick<EventEmitter, "once">;
  /**
   * When the token expires, in seconds since the epoch; undefined: not known. If it has expired already, `check`
   * decides.
   */
  expires: number | undefined;
  /** Decides again whether the client may connect: returns a refusal, or any other object if it may. */
  check(): object | Promise<object>;
  /** Ends the request or stream; called at most once, and not after `close`. */
  end(refusal: Refusal): void;
}

/** Watches a request or stream until it is over. */
export type Recheck = (open: OpenRequest) => void;

/**
 * After this many checks in a row without an answer, a stream ends. Fewer are tolerated: the API server may be down.
 */
const MOST_UNANSWERED = 10;
const EXPIRED: Refusal = {
  status: 401,
  detail: "The token has expired.",
  headers: { "WWW-Authenticate": "Bearer" },
};
const NO_DECISION: Refusal = { status: 500, detail: "Cannot find out who may connect." };

/**
 * Creates the recheck.
 *
 * @param everyMs time between two checks, in milliseconds; 0: a stream ends only with its token
 */
export function createRecheck(everyMs: number): Recheck {
  const periodMs = everyMs || LONGEST_MS;
  const deadlines = createDeadlines(periodMs);
  return ({ client, expires, check, end }) => {
    const expiresAt = expires !== undefined && expires * 1000 > Date.now() ? expires * 1000 : Infinity;
    let isOver = false;
    let unanswered = 0;
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
      const decision = everyMs === 0 ? {} : await Promise.resolve().then(check).catch(() => NO_DECISION);
      unanswered = isRefusal(decision) && !isDenial(decision) ? unanswered + 1 : 0;
      if (isRefusal(decision) && (isDenial(decision) || unanswered >= MOST_UNANSWERED)) return finish(decision);
      scheduleNext();
    };
    const scheduleNext = () => {
      if (isOver) return;
      const leftMs = expiresAt - Date.now();
      // Most requests end long before the next check, so they share one timer.
      if (leftMs < periodMs) timer = setTimeout(() => finish(EXPIRED), Math.max(0, leftMs));
      else stop = deadlines.begin(() => void checkAgain());
    };
    client.once("close", () => finish());
    scheduleNext();
  };
}

/** Period if `everyMs` is 0, in milliseconds: far below the longest timer of Node (24.8 days). */
const LONGEST_MS = 24 * 60 * 60 * 1000;

/** Tells whether the refusal is a decision; other refusals mean that no decision could be made. */
function isDenial({ status }: Refusal): boolean {
  return status < 500 && status !== 429;
}
