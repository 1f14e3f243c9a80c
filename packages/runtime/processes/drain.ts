/** Tells when all that an ended process wrote has arrived; it must not wait for those it left behind. @module */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";

/** How long a pipe must stay silent before its output counts as whole, in milliseconds. */
const QUIET_MS = 20;
/** After so many looks at a stream that is being read and never falls silent, only those left behind can be writing. */
const MOST_LOOKS = 50;

/**
 * Resolves, once the leader has ended, when its output has arrived: each stream has come to its end, or is kept open
 * by a process left behind and has been silent for a moment while it was read. What the leader wrote was in the pipe
 * before it ended, so a silent turn of the event loop means that nothing of it is left; and a pipe holds little, so
 * it is empty of that after a few dozen turns even if others keep writing. Waits for as long as a stream is paused.
 *
 * @param quietMs how long the silence must last
 */
export async function drained(streams: Readable[], quietMs = QUIET_MS): Promise<void> {
  await Promise.all(streams.map((stream) => quiet(stream, quietMs)));
}

/**
 * Lets the stream flow without a listener, and the event loop end before it does: a process left behind neither blocks
 * on a full pipe nor dies of SIGPIPE.
 */
export function abandon(stream: Readable): void {
  stream.removeAllListeners("data");
  stream.resume();
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}

function quiet(stream: Readable, quietMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) return resolve();
    let silent = true;
    let looks = 0;
    const onData = () => silent = false;
    const done = () => {
      clearTimeout(timer);
      stream.off("data", onData).off("end", done).off("close", done);
      resolve();
    };
    const look = () => {
      // A paused stream is silent because its reader is slow: that says nothing.
      if (!stream.isPaused() && (silent || ++looks > MOST_LOOKS)) return done();
      silent = true;
      timer = later(look, quietMs);
    };
    stream.on("data", onData).once("end", done).once("close", done);
    let timer = later(look, quietMs);
  });
}

/** A timer that is late would look before the pipes have been polled; setImmediate comes after that. */
function later(look: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(() => setImmediate(look), ms);
}
