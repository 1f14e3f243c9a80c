/** Reads the output of a running process as fast as its reader takes it. @module */
import type { Readable } from "node:stream";
import { drained } from "./drain.ts";
import type { Running } from "./spawn.ts";

/** A piece of stdout or stderr. */
export interface Chunk {
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
