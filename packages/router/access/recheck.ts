/** Ends requests and streams that outlast their client's token, or its right to connect. Asks nobody itself. @module */
import type { EventEmitter } from "node:events";
import { createDeadlines } from "../../process/deadlines.ts";
import { isRefusal, type Refusal } from "../refusal.ts";

/** A request or stream that may go on for long. */
export interface Lasting {
  /** Closes with it. */
  client: Pick<EventEmitter, "once">;
  /** When its token ends, in seconds since the epoch; undefined: not known. One that is past already is left to `check`. */
  expires: number | undefined;
  /** Asks again whether it may: a refusal, or anything else. */
  check(): object | Promise<object>;
  /** Ends it; called once at most, and not after its close. */
  end(refusal: Refusal): void;
}

/** Sees to it that it ends in time. */
export type Recheck = (lasting: Lasting) => void;

/** Looks in a row that nobody answers, and that do not end a stream: an API server may be away for a while. */
const MOST_UNANSWERED = 10;
const EXPIRED: Refusal = {
  status: 401,
  detail: "The token has expired.",
  headers: { "WWW-Authenticate": "Bearer" },
};
const UNKNOWN: Refusal = { status: 500, detail: "Cannot find out who may connect." };

/** Makes it. @param everyMs how often to ask again, in milliseconds; 0: only the end of a token ends a stream */
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
    const look = async () => {
      const outcome = everyMs === 0 ? {} : await Promise.resolve().then(check).catch(() => UNKNOWN);
      unanswered = isRefusal(outcome) && !isDenial(outcome) ? unanswered + 1 : 0;
      if (isRefusal(outcome) && (isDenial(outcome) || unanswered >= MOST_UNANSWERED)) return finish(outcome);
      wait();
    };
    const wait = () => {
      if (isOver) return;
      const leftMs = expiresAt - Date.now();
      // Most requests end long before: they share one timer.
      if (leftMs < periodMs) timer = setTimeout(() => finish(EXPIRED), Math.max(0, leftMs));
      else stop = deadlines.begin(() => void look());
    };
    client.once("close", () => finish());
    wait();
  };
}

/** A timer cannot be longer. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

/** Tells whether somebody has said no; else nobody has said anything. */
function isDenial({ status }: Refusal): boolean {
  return status < 500 && status !== 429;
}
