/** Reads the output of a running process as fast as its reader takes it, until all of it has arrived. @module */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";
import type { Running } from "./spawn.ts";

/** A piece of stdout or stderr. */
interface Chunk {
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** Overhead of a piece in bytes: some programs write one byte at a time. */
const PIECE_COST = 128;
/** Unread output in bytes, with overhead, from which the process has to wait. */
const HIGH_WATER_BYTES = 256 * 1024;

/**
 * Yields both streams in the order in which pieces arrive, until the process has ended and all of its output has
 * arrived.
 */
export async function* readOutput(process: Running): AsyncGenerator<Chunk> {
  const streams = [process.stdout, process.stderr];
  const queue: Chunk[] = [];
  let waiting = 0;
  let done = false;
  let wake = () => {};
  const listen = (stream: Readable, name: Chunk["stream"]) =>
    stream.on("data", (bytes: Uint8Array) => {
      queue.push({ stream: name, bytes });
      waiting += bytes.length + PIECE_COST;
      if (waiting >= HIGH_WATER_BYTES) { for (const one of streams) one.pause(); }
      wake();
    });
  listen(process.stdout, "stdout");
  listen(process.stderr, "stderr");
  process.ended.then(() => drained(streams)).then(() => {
    done = true;
    wake();
  });
  try {
    while (true) {
      const chunk = queue.shift();
      if (chunk) {
        yield chunk;
        waiting -= chunk.bytes.length + PIECE_COST;
        if (waiting < HIGH_WATER_BYTES) { for (const one of streams) one.resume(); }
      } else if (done) return;
      else await new Promise<void>((resolve) => wake = resolve);
    }
  } finally {
    // If the reader leaves early, the process continues and must not block on a full pipe.
    process.release();
  }
}

/** How long a pipe must be silent until its output counts as complete, in milliseconds. */
const SILENT_MS = 20;
/**
 * Number of checks after which a stream counts as complete although it is never silent: only background processes can
 * still write.
 */
const MAX_CHECKS = 50;

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
export async function drained(streams: Readable[], quietMs = SILENT_MS): Promise<void> {
  await Promise.all(streams.map((stream) => untilSilent(stream, quietMs)));
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

function untilSilent(stream: Readable, quietMs: number): Promise<void> {
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
      if (!stream.isPaused() && (silent || ++looks > MAX_CHECKS)) return done();
      silent = true;
      timer = afterPolling(look, quietMs);
    };
    stream.on("data", onData).once("end", done).once("close", done);
    let timer = afterPolling(look, quietMs);
  });
}

/** A late timer would run before the pipes are polled, so the check runs in setImmediate, which comes after that. */
function afterPolling(look: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(() => setImmediate(look), ms);
}
