/** Tells when a process has ended and what it wrote has arrived; it must not wait for those it left behind. @module */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";
import type { Started } from "./spawn.ts";

/** How long a pipe must stay silent after the leader's end before its output counts as whole, in milliseconds. */
const QUIET_MS = 25;
/** When a process left behind keeps writing, its output is cut this long after the leader's end, in milliseconds. */
const CUT_MS = 1000;

/** How a process ended: -1 when a signal ended it, as `process.v1` says it. */
export interface Ended {
  exitCode: number;
  signal: NodeJS.Signals | undefined;
}

/** Resolves at the end of the leader, whatever others keep open. */
export function ended(child: Started): Promise<Ended> {
  const answer = (code: number | null, signal: NodeJS.Signals | null): Ended => ({
    exitCode: code ?? -1,
    signal: signal ?? undefined,
  });
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve(answer(child.exitCode, child.signalCode));
  }
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve(answer(code, signal))));
}

/**
 * Resolves, once the leader has ended, when its output has arrived: each stream has come to its end, or is kept open
 * by a process left behind and has been silent for a moment. What the leader wrote was in the pipe before it ended,
 * so a silent turn of the event loop means that nothing of it is left. From then on the streams flow without a
 * listener: a process left behind neither blocks on a full pipe nor dies of SIGPIPE.
 */
export async function drained(streams: Readable[]): Promise<void> {
  const deadline = Date.now() + CUT_MS;
  await Promise.all(streams.map((stream) => quiet(stream, deadline)));
}

/** Throws away what still comes, and keeps the runtime's event loop from waiting for it. */
export function abandon(stream: Readable): void {
  stream.removeAllListeners("data");
  stream.on("error", () => {});
  stream.resume();
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}

function quiet(stream: Readable, deadline: number): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) return resolve();
    let silent = true;
    const onData = () => silent = false;
    const done = () => {
      stream.off("data", onData).off("end", done).off("close", done);
      resolve();
    };
    const look = () => {
      // Paused by back-pressure: the reader has not seen all yet, so silence says nothing.
      if (!stream.isPaused() && (silent || Date.now() > deadline)) return done();
      silent = true;
      setTimeout(() => setImmediate(look), QUIET_MS);
    };
    stream.on("data", onData).once("end", done).once("close", done);
    // A timer that is late would look before the poll phase: setImmediate comes after it.
    setTimeout(() => setImmediate(look), QUIET_MS);
  });
}
