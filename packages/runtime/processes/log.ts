/** What a process wrote, kept up to a limit and read again from any offset; it knows no process. @module */
import { createBackpressure, type Flow } from "./backpressure.ts";

/** A piece of output; `offset` counts the bytes of both streams in the order in which they came. */
export interface Piece {
  offset: number;
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** A piece, or how much is lost: everything before `beforeOffset`. */
export type Read = { piece: Piece } | { beforeOffset: number };

/** Output of one process. */
export interface OutputLog {
  append(stream: Piece["stream"], bytes: Uint8Array): void;
  /** Nothing comes any more. */
  end(): void;
  /** Offset of the next byte. */
  size(): number;
  /** Memory of the kept output in bytes, including the overhead of its pieces. */
  kept(): number;
  /** Drops the kept output. Readers learn that everything before `size` is lost. */
  drop(): void;
  /** Takes note that everything before `offset` has arrived where it was sent. */
  acknowledge(offset: number): void;
  /**
   * Reads from `offset` on, as fast as the caller takes it, until the log has ended; without `follow` until the end of
   * what there is. A reader that falls behind what is kept is told so and goes on with the oldest that is left.
   */
  read(offset: number, options: { follow: boolean; signal?: AbortSignal }): AsyncGenerator<Read>;
}

/** A piece sent at once is never longer: callers have limits on messages. */
const PIECE_BYTES = 64 * 1024;
/** A piece shorter than this takes up the next of its stream: programs write line by line. */
const SMALL_BYTES = 4 * 1024;
/** What a piece costs besides its bytes, so that a log of tiny ones stays within its limit too. */
const PIECE_COST = 128;
/** How far what writes may be ahead of what was acknowledged. */
const AHEAD_BYTES = 1 << 20;
/** What may still come when a writer is stopped: a piece that brings it to the limit, and one of the other stream. */
const LATE_COST = 2 * (PIECE_BYTES + PIECE_COST);

/**
 * Makes a log that keeps about the last `keepBytes` bytes.
 *
 * @param flow stops and starts what writes, so that no reader loses anything, for which a log has to keep some 256 KiB;
 * absent: it never waits
 */
export function createLog(keepBytes: number, flow?: Flow): OutputLog {
  const keep = flow ? Math.max(keepBytes, 2 * LATE_COST) : keepBytes;
  const store = createStore(keep);
  const backpressure = flow && createBackpressure(flow, Math.min(AHEAD_BYTES, keep - LATE_COST));
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    append: (stream, bytes) => {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) store.add(stream, bytes.slice(at, at + PIECE_BYTES));
      backpressure?.written(store.spent());
      tell();
    },
    end: () => {
      ended = true;
      tell();
    },
    size: store.size,
    kept: store.cost,
    drop: store.drop,
    acknowledge: (offset) => backpressure?.taken(store.spentBefore(offset)),
    async *read(offset, { follow, signal }) {
      // Promise.race() would leave something on a promise of the abort for each turn.
      signal?.addEventListener("abort", tell);
      const left = backpressure?.entered();
      let at = offset;
      try {
        while (!signal?.aborted) {
          const oldest = store.oldest();
          if (at < oldest) {
            yield { beforeOffset: oldest };
            at = oldest;
            // It may have aborted meanwhile, with nothing left to read.
            continue;
          }
          const piece = store.at(at);
          if (piece) {
            yield { piece };
            at = piece.offset + piece.bytes.length;
          } else if (ended || !follow) return;
          else await changed.promise;
        }
      } finally {
        signal?.removeEventListener("abort", tell);
        left?.();
      }
    },
  };
}

/** A piece, and what all pieces up to its end have cost. */
interface Kept extends Piece {
  spent: number;
}

interface Store {
  add(stream: Piece["stream"], bytes: Uint8Array): void;
  size(): number;
  /** Memory of the present pieces in bytes, including their overhead. */
  cost(): number;
  drop(): void;
  /** What all pieces have cost so far, those that were dropped too. */
  spent(): number;
  /** What all pieces that end at `offset` or before have cost. */
  spentBefore(offset: number): number;
  /** Offset of the first byte that is still there. */
  oldest(): number;
  /** The piece that holds the byte at `offset`, from that byte on; `undefined` if it has not come yet. */
  at(offset: number): Kept | undefined;
}

function createStore(keepBytes: number): Store {
  let pieces: Kept[] = [];
  let first = 0;
  let cost = 0;
  let spent = 0;
  let size = 0;
  const drop = () => {
    while (cost > keepBytes && first < pieces.length) cost -= PIECE_COST + (pieces[first++]?.bytes.length ?? 0);
    if (first <= pieces.length / 2) return;
    pieces = pieces.slice(first);
    first = 0;
  };
  return {
    add: (stream, bytes) => {
      const last = pieces.at(-1);
      const joins = last && pieces.length > first && last.stream === stream &&
        last.bytes.length + bytes.length <= SMALL_BYTES;
      const more = bytes.length + (joins ? 0 : PIECE_COST);
      spent += more;
      if (joins) pieces[pieces.length - 1] = { ...last, bytes: joined(last.bytes, bytes), spent };
      else pieces.push({ offset: size, stream, bytes, spent });
      cost += more;
      size += bytes.length;
      drop();
    },
    size: () => size,
    cost: () => cost,
    drop: () => {
      pieces = [];
      first = 0;
      cost = 0;
    },
    spent: () => spent,
    spentBefore: (offset) => {
      const next = pieces[indexOf(pieces, first, offset)];
      return next ? next.spent - next.bytes.length - PIECE_COST : spent;
    },
    oldest: () => pieces[first]?.offset ?? size,
    at: (offset) => from(pieces[indexOf(pieces, first, offset)], offset),
  };
}

/** The first index from `low` on whose piece ends after `offset`. */
function indexOf(pieces: Kept[], low: number, offset: number): number {
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { offset: start, bytes } = pieces[middle] as Kept;
    if (start + bytes.length <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function from(piece: Kept | undefined, offset: number): Kept | undefined {
  if (!piece || piece.offset >= offset) return piece;
  return { ...piece, offset, bytes: piece.bytes.subarray(offset - piece.offset) };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
