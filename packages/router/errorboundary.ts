/** Error boundary: an uncaught exception closes only the connection that caused it. @module */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

/** Closes the connection that the current code works for. */
const ending = new AsyncLocalStorage<() => void>();

/** Runs `work` for a connection. Events, timers and promises that start in `work` belong to this connection, too. */
export function workFor(end: () => void, work: () => void): void {
  ending.run(end, () => {
    try {
      work();
    } catch (error) {
      // Thrown here, the exception would reach the caller outside this context, where the connection is not known.
      queueMicrotask(() => {
        throw error;
      });
    }
  });
}

/**
 * Makes an uncaught exception close only its own connection, until `signal` fires. An exception outside {@link workFor}
 * ends the process as usual: the state of the router is unknown then.
 */
export function surviveExceptions(onSurvived: (error: unknown) => void, signal: AbortSignal): void {
  const survive = (error: unknown) => {
    const end = ending.getStore();
    if (!end) throw error;
    onSurvived(error);
    end();
  };
  // If nobody reads the log any more, each log line about an exception would cause another exception, without end.
  const giveUp = () => process.exit(1);
  process.on("uncaughtException", survive);
  for (const output of [process.stdout, process.stderr]) output.on("error", giveUp);
  signal.addEventListener("abort", () => {
    process.off("uncaughtException", survive);
    for (const output of [process.stdout, process.stderr]) output.off("error", giveUp);
  }, { once: true });
}
