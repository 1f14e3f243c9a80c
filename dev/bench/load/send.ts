/** Sends requests when they are due, whatever became of earlier ones; a burst goes through a few clients. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { type Arrivals, dueTimes } from "../../../packages/cli/pool/arrivals.ts";

/**
 * Calls `ask` for 0, 1, … `count` - 1; resolves when every call has. Rejects with the first call that does, and makes no
 * more.
 *
 * @param ask told the index and when it was due (`performance.now()` milliseconds): latencies count from then, so that a load
 * that lags behind cannot hide it. A burst's are due when a client is free for them.
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
    // Heard at once: one that nobody waits for yet would end the process.
    running.push(ask(index, due).catch((error) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
