/** Keeps an exception that nobody has caught to the connection whose bytes have led to it. @module */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

/** How the connection is ended that something is done for. */
const ending = new AsyncLocalStorage<() => void>();

/** Works for a connection. Whatever follows from it belongs to that connection, too: events, timers, promises. */
export function workFor(end: () => void, work: () => void): void {
  ending.run(end, () => {
    try {
      work();
    } catch (error) {
      // What is thrown further up has left the connection behind.
      queueMicrotask(() => {
        throw error;
      });
    }
  });
}

/**
 * Sees to it that an exception in what is done for a connection ends that one alone, until `signal` fires. Any other ends
 * the process as it always does: nobody knows what it has broken.
 */
export function surviveExceptions(onSurvived: (error: unknown) => void, signal: AbortSignal): void {
  const survive = (error: unknown) => {
    const end = ending.getStore();
    if (!end) throw error;
    onSurvived(error);
    end();
  };
  // Where nobody takes the log any more, each word of what has been survived would fail again, without end.
  const giveUp = () => process.exit(1);
  process.on("uncaughtException", survive);
  for (const output of [process.stdout, process.stderr]) output.on("error", giveUp);
  signal.addEventListener("abort", () => {
    process.off("uncaughtException", survive);
    for (const output of [process.stdout, process.stderr]) output.off("error", giveUp);
  }, { once: true });
}
