/** Passes the output of a process on to everybody who listens at that time, and makes it wait for the slowest. @module */
import type { Readable } from "node:stream";

/** A piece of output. */
export interface Piece {
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** One listener. */
export interface Listener {
  /**
   * Yields pieces as they arrive, and `quiet` after each `quietMs` milliseconds without one, until the output has ended
   * or `signal` aborts.
   */
  pieces(quietMs: number, signal: AbortSignal): AsyncGenerator<Piece | "quiet">;
  leave(): void;
}

/** The output of one process. Without a listener, it is dropped. */
export interface Broadcast {
  /** Gets the output from now on. */
  listen(): Listener;
  /** No more output comes. */
  end(): void;
}

/** Overhead of a piece in bytes: some programs write one byte at a time. */
const PIECE_COST = 128;
/** Output in bytes, with overhead, that waits for one listener, from which the process has to wait. */
const HIGH_WATER_BYTES = 256 * 1024;

interface Queue {
  pieces: Piece[];
  bytes: number;
  wake(): void;
}

/** @param pieceBytes the longest piece */
export function createBroadcast(streams: Record<Piece["stream"], Readable>, pieceBytes: number): Broadcast {
  const queues = new Set<Queue>();
  let hasEnded = false;
  const pace = () => {
    const mustWait = [...queues].some(({ bytes }) => bytes >= HIGH_WATER_BYTES);
    for (const stream of Object.values(streams)) {
      if (mustWait) stream.pause();
      else if (stream.isPaused()) stream.resume();
    }
  };
  for (const stream of ["stdout", "stderr"] as const) {
    streams[stream].on("data", (bytes: Uint8Array) => {
      for (const queue of queues) {
        for (let start = 0; start < bytes.length; start += pieceBytes) {
          queue.pieces.push({ stream, bytes: bytes.subarray(start, start + pieceBytes) });
        }
        queue.bytes += bytes.length + PIECE_COST;
        queue.wake();
      }
      pace();
    });
  }
  async function* pieces(queue: Queue, quietMs: number, signal: AbortSignal): AsyncGenerator<Piece | "quiet"> {
    const wake = () => queue.wake();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        const piece = queue.pieces.shift();
        if (piece) {
          yield piece;
          queue.bytes -= piece.bytes.length;
          if (queue.pieces.length === 0) queue.bytes = 0;
          pace();
        } else if (hasEnded) return;
        else if (await untilWoken(queue, quietMs) && !signal.aborted) yield "quiet";
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }
  return {
    listen: () => {
      const queue: Queue = { pieces: [], bytes: 0, wake: () => {} };
      queues.add(queue);
      return {
        pieces: (quietMs, signal) => pieces(queue, quietMs, signal),
        leave: () => {
          queues.delete(queue);
          pace();
        },
      };
    },
    end: () => {
      hasEnded = true;
      for (const queue of queues) queue.wake();
    },
  };
}

/** Waits for the next piece. True: none came for `quietMs`. */
async function untilWoken(queue: Queue, quietMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isQuiet = await new Promise<boolean>((resolve) => {
    queue.wake = () => resolve(false);
    timer = setTimeout(() => resolve(true), quietMs);
  });
  clearTimeout(timer);
  queue.wake = () => {};
  return isQuiet;
}
