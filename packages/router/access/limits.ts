/** Limits how many requests one client may have open, and how many it may send per second. @module */
import { createBudget } from "../budget.ts";
import { type Refusal, tooMany } from "../refusal.ts";

export interface LimitOptions {
  /** Requests of one client per second; the burst is twice as much; 0: no limit. */
  clientRequestsPerSecond: number;
  /** Open requests and streams of one client; 0: no limit. */
  clientMaxConcurrent: number;
}

/** Counts a request of a client at `now` (milliseconds). Returns a function to call at its end, or a refusal. */
export type Limits = (client: string, now: number) => (() => void) | Refusal;

/** Makes the limits; undefined: there is no limit. */
export function createLimits({ clientRequestsPerSecond, clientMaxConcurrent }: LimitOptions): Limits | undefined {
  if (clientRequestsPerSecond === 0 && clientMaxConcurrent === 0) return undefined;
  const budget = createBudget(clientRequestsPerSecond, Math.max(2 * clientRequestsPerSecond, 1));
  const running = new Map<string, number>();
  return (client, now) => {
    const count = running.get(client) ?? 0;
    if (clientMaxConcurrent > 0 && count >= clientMaxConcurrent) {
      return tooMany(`${count} requests of this client run already.`, 1);
    }
    const seconds = budget(client, now);
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
