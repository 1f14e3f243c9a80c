/**
 * Logs what sandboxes were refused. A sandbox that tries again and again fills neither the log nor hides what others
 * were refused: each one has a number of lines a minute. @module
 */
import type { Clock } from "../process/clock.ts";
import { COMPLAINT_MS, type Log } from "../process/log.ts";
import type { Refused } from "./answer.ts";

/** Lines about one address within {@link COMPLAINT_MS}; the rest is counted. */
const MOST_LINES = 20;
/** No host name is longer. */
const LONGEST_HOST = 253;

/** Where a refused request came from, and where it was to go. */
interface RefusedRequest {
  client: string;
  host: string;
  port: number;
}

/** Logs a refusal: host and port, never a path, a query or a header. */
export type RefusalLog = (request: RefusedRequest, refused: Omit<Refused, "allowed">) => void;

/** @param signal ends what the log still waits for */
export function createRefusalLog(log: Log, clock: Pick<Clock, "setTimeout">, signal: AbortSignal): RefusalLog {
  /** By address of the client. */
  const recent = new Map<string, { lines: number; more: number; cancel: () => void }>();
  signal.addEventListener("abort", () => {
    for (const { cancel } of recent.values()) cancel();
  }, { once: true });

  function end(client: string, sandbox: string | undefined): void {
    const more = recent.get(client)?.more ?? 0;
    recent.delete(client);
    if (more > 0) log("info", "Refused more requests", { client, sandbox, count: more });
  }

  return ({ client, host, port }, { status, reason, cause, sandbox }) => {
    let entry = recent.get(client);
    if (!entry) {
      const cancel = clock.setTimeout(() => end(client, sandbox?.name), COMPLAINT_MS);
      recent.set(client, entry = { lines: 0, more: 0, cancel });
    }
    if (entry.lines >= MOST_LINES) entry.more++;
    else {
      entry.lines++;
      const fields = { client, sandbox: sandbox?.name, claim: sandbox?.claim?.name, host: host.slice(0, LONGEST_HOST) };
      log("info", "Refused", { ...fields, port, status, cause, reason: reason.slice(0, 2 * LONGEST_HOST) });
    }
  };
}
