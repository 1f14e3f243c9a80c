/** What a process wrote, kept up to a limit and read again from any offset; it must not hold up the process. @module */

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

/** Makes a log that keeps about the last `keepBytes` bytes. */
export function createLog(keepBytes: number): OutputLog {
  const store = createStore(keepBytes);
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    append: (stream, bytes) => {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) store.add(stream, bytes.slice(at, at + PIECE_BYTES));
      tell();
    },
    end: () => {
      ended = true;
      tell();
    },
    size: store.size,
    async *read(offset, { follow, signal }) {
      const aborted = signal && new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      let at = offset;
      while (!signal?.aborted) {
        const oldest = store.oldest();
        if (at < oldest) {
          yield { beforeOffset: oldest };
          at = oldest;
        }
        const piece = store.at(at);
        if (piece) {
          yield { piece };
          at = piece.offset + piece.bytes.length;
        } else if (ended || !follow) return;
        else await Promise.race(aborted ? [changed.promise, aborted] : [changed.promise]);
      }
    },
  };
}

interface Store {
  add(stream: Piece["stream"], bytes: Uint8Array): void;
  size(): number;
  /** Offset of the first byte that is still there. */
  oldest(): number;
  /** The piece that holds the byte at `offset`, from that byte on; `undefined` if it has not come yet. */
  at(offset: number): Piece | undefined;
}

function createStore(keepBytes: number): Store {
  let pieces: Piece[] = [];
  let first = 0;
  let cost = 0;
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
      if (last && pieces.length > first && last.stream === stream && last.bytes.length + bytes.length <= SMALL_BYTES) {
        pieces[pieces.length - 1] = { ...last, bytes: joined(last.bytes, bytes) };
      } else {
        pieces.push({ offset: size, stream, bytes });
        cost += PIECE_COST;
      }
      cost += bytes.length;
      size += bytes.length;
      drop();
    },
    size: () => size,
    oldest: () => pieces[first]?.offset ?? size,
    at: (offset) => from(pieces[indexOf(pieces, first, offset)], offset),
  };
}

/** The first index from `low` on whose piece ends after `offset`. */
function indexOf(pieces: Piece[], low: number, offset: number): number {
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { offset: start, bytes } = pieces[middle] as Piece;
    if (start + bytes.length <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function from(piece: Piece | undefined, offset: number): Piece | undefined {
  if (!piece || piece.offset >= offset) return piece;
  return { ...piece, offset, bytes: piece.bytes.subarray(offset - piece.offset) };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
