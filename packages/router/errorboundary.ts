/** Error boundary: an uncaught exception closes only the connection that caused it. @module */
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";

/** Closes the connection that the current code works for. */
const boundary = new AsyncLocalStorage<() => void>();

/** Runs `work` for a connection. Events, timers and promises that start in `work` belong to this connection, too. */
export function runInBoundary(end: () => void, work: () => void): void {
  boundary.run(end, () => {
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
 * Makes an uncaught exception close only its own connection, until `signal` fires. An exception outside {@link runInBoundary}
 * ends the process as usual: the state of the router is unknown then.
 */
export function installErrorBoundary(onContained: (error: unknown) => void, signal: AbortSignal): void {
  const contain = (error: unknown) => {
    const end = boundary.getStore();
    if (!end) throw error;
    onContained(error);
    end();
  };
  // If nobody reads the log any more, each log line about an exception would cause another exception, without end.
  const exit = () => process.exit(1);
  process.on("uncaughtException", contain);
  for (const output of [process.stdout, process.stderr]) output.on("error", exit);
  signal.addEventListener("abort", () => {
    process.off("uncaughtException", contain);
    for (const output of [process.stdout, process.stderr]) output.off("error", exit);
  }, { once: true });
}
