/** Waits until all output of an ended process has arrived. @module */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";

/** How long a pipe must be silent until its output counts as complete, in milliseconds. */
const QUIET_MS = 20;
/**
 * Number of checks after which a stream counts as complete although it is never silent: only background processes can
 * still write.
 */
const MOST_LOOKS = 50;

/**
 * Resolves when the output of an ended process has arrived: each stream has ended, or has been silent for a moment. A
 * background process can keep a stream open.
 *
 * The process wrote its output into the pipe before it ended. So if nothing arrives during a turn of the event loop,
 * nothing of that output is left. A pipe holds little, so its old content is read after a few dozen turns, even if
 * background processes continue to write. While a stream is paused, the function waits.
 *
 * @param quietMs how long the silence must last, in milliseconds
 */
export async function drained(streams: Readable[], quietMs = QUIET_MS): Promise<void> {
  await Promise.all(streams.map((stream) => quiet(stream, quietMs)));
}

/**
 * Reads and drops all further output of a stream, and lets the event loop end. A background process then neither blocks
 * on a full pipe nor is killed by SIGPIPE.
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
      // A paused stream is silent because its reader is slow, so the check does not count.
      if (!stream.isPaused() && (silent || ++looks > MOST_LOOKS)) return done();
      silent = true;
      timer = later(look, quietMs);
    };
    stream.on("data", onData).once("end", done).once("close", done);
    let timer = later(look, quietMs);
  });
}

/** A late timer would run before the pipes are polled, so the check runs in setImmediate, which comes after that. */
function later(look: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(() => setImmediate(look), ms);
}
