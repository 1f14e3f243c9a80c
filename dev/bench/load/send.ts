/**
 * Sends requests when they are due, whether earlier ones have been answered or not. A burst is sent by a few clients.
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Arrivals, dueTimes } from "../../../packages/cli/pool/simulate.ts";

/**
 * Calls `ask` with 0, 1, … `count` - 1, and resolves when every call has resolved. If a call rejects, it makes no more
 * calls and rejects with the first error.
 *
 * @param ask is called with the index and when the call was due (`performance.now()` milliseconds). Latencies count
 * from that time, so that a load that is late cannot hide it. In a burst, a call is due when a client is free.
 */
export async function sendAll(
  count: number,
  arrivals: Arrivals,
  ask: (index: number, due: number) => Promise<void>,
): Promise<void> {
  if (arrivals.kind === "burst") {
    const indexes = Array.from({ length: count }, (_, index) => index).values();
    const client = async () => {
      for (const index of indexes) await ask(index, performance.now());
    };
    await Promise.all(Array.from({ length: arrivals.clients }, client));
    return;
  }
  const begun = performance.now();
  const running: Promise<void>[] = [];
  const failures: unknown[] = [];
  for (const [index, ms] of dueTimes(count, arrivals).entries()) {
    if (failures.length > 0) break;
    const due = begun + ms;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    // The error is handled now: a rejection that nobody awaits yet would end the process.
    running.push(ask(index, due).catch((error) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
