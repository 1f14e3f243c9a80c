/** Reads what a running process writes, as fast as its reader takes it; it must not keep it. @module */
import type { Readable } from "node:stream";
import { drained } from "./drain.ts";
import type { Running } from "./spawn.ts";

/** A piece of one of the two streams. */
export interface Chunk {
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** What a piece costs besides its bytes: some programs write one byte at a time. */
const PIECE_COST = 128;
/** How much waits for a slow reader before the process is held up, costs included. */
const HIGH_WATER_BYTES = 256 * 1024;

/** Yields both streams in the order in which pieces arrive, until the leader has ended and all it wrote is here. */
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
    // A reader that leaves early leaves the process running: nobody may wait on a full pipe then.
    process.release();
  }
}
