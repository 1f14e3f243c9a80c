/**
 * Keeps the output of a process up to a limit, reads it from any offset, and pauses a process whose output is not read.
 * @module
 */

/** A piece of output. `offset` counts the bytes of both streams in the order in which they arrived. */
interface Piece {
  offset: number;
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** A piece, or a gap: everything before `beforeOffset` is lost. */
export type LogRead = { piece: Piece } | { beforeOffset: number };

/** Output of one process. */
export interface OutputLog {
  append(stream: Piece["stream"], bytes: Uint8Array): void;
  /** No more output will come. */
  end(): void;
  /** Offset of the next byte. */
  size(): number;
  /** Memory of the kept output in bytes, including the overhead of its pieces. */
  kept(): number;
  /** Drops the kept output. Readers learn that everything before `size` is lost. */
  drop(): void;
  /** All output before `offset` has arrived at the client. */
  acknowledge(offset: number): void;
  /**
   * Reads from `offset` as fast as the caller takes pieces, until the log has ended. Without `follow`, reads only what
   * has been written so far. If the reader is too slow and output was dropped, it gets a gap and continues with the
   * oldest kept output.
   */
  read(offset: number, options: { follow: boolean; signal?: AbortSignal }): AsyncGenerator<LogRead>;
}

/** Longest piece, because clients limit the size of messages. */
const PIECE_BYTES = 64 * 1024;
/**
 * Output is appended to the previous piece of its stream while that is shorter than this, because programs write line
 * by line.
 */
const SMALL_BYTES = 4 * 1024;
/** Overhead of a piece in bytes, so that a log of tiny pieces also stays within its limit. */
const PIECE_COST = 128;
/** How far the writer may be ahead of the acknowledged output, in bytes. */
const AHEAD_BYTES = 1 << 20;
/**
 * Cost of output that can still arrive after the writer was paused: the piece that reached the limit, and one of the
 * other stream.
 */
const LATE_COST = 2 * (PIECE_BYTES + PIECE_COST);

/**
 * Creates a log that keeps about the last `keepBytes` bytes.
 *
 * @param flow pauses and resumes the writer, so that no reader loses output; the log then keeps at least 256 KiB.
 * Absent: the writer never waits
 */
export function createOutputLog(keepBytes: number, flow?: Flow): OutputLog {
  const keep = flow ? Math.max(keepBytes, 2 * LATE_COST) : keepBytes;
  const store = createStore(keep);
  const backpressure = flow && createBackpressure(flow, Math.min(AHEAD_BYTES, keep - LATE_COST));
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const notify = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    append: (stream, bytes) => {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) store.add(stream, bytes.slice(at, at + PIECE_BYTES));
      backpressure?.written(store.spent());
      notify();
    },
    end: () => {
      ended = true;
      notify();
    },
    size: store.size,
    kept: store.cost,
    drop: store.drop,
    acknowledge: (offset) => backpressure?.taken(store.spentBefore(offset)),
    async *read(offset, { follow, signal }) {
      // Promise.race() would leave a reaction on a promise of the signal in each turn.
      signal?.addEventListener("abort", notify);
      const left = backpressure?.entered();
      let at = offset;
      try {
        while (!signal?.aborted) {
          const oldest = store.oldest();
          if (at < oldest) {
            yield { beforeOffset: oldest };
            at = oldest;
            // The signal may have aborted in between, with nothing left to read.
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
        signal?.removeEventListener("abort", notify);
        left?.();
      }
    },
  };
}

/** A piece, and the total cost of all pieces up to its end. */
interface StoredPiece extends Piece {
  spent: number;
}

interface Store {
  add(stream: Piece["stream"], bytes: Uint8Array): void;
  size(): number;
  /** Memory of the kept pieces in bytes, including their overhead. */
  cost(): number;
  drop(): void;
  /** Total cost of all pieces so far, including dropped ones. */
  spent(): number;
  /** Total cost of all pieces that end at or before `offset`. */
  spentBefore(offset: number): number;
  /** Offset of the first byte that is still kept. */
  oldest(): number;
  /** The piece that contains the byte at `offset`, starting with that byte; undefined if it has not arrived yet. */
  at(offset: number): StoredPiece | undefined;
}

function createStore(keepBytes: number): Store {
  let pieces: StoredPiece[] = [];
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
      if (joins) pieces[pieces.length - 1] = { ...last, bytes: concatenated(last.bytes, bytes), spent };
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
      const next = pieces[pieceIndex(pieces, first, offset)];
      return next ? next.spent - next.bytes.length - PIECE_COST : spent;
    },
    oldest: () => pieces[first]?.offset ?? size,
    at: (offset) => pieceFrom(pieces[pieceIndex(pieces, first, offset)], offset),
  };
}

/** The first index, from `low`, of a piece that ends after `offset`. */
function pieceIndex(pieces: StoredPiece[], low: number, offset: number): number {
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { offset: start, bytes } = pieces[middle] as StoredPiece;
    if (start + bytes.length <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function pieceFrom(piece: StoredPiece | undefined, offset: number): StoredPiece | undefined {
  if (!piece || piece.offset >= offset) return piece;
  return { ...piece, offset, bytes: piece.bytes.subarray(offset - piece.offset) };
}

function concatenated(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** The writer of output: pauses and resumes it. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Records how many bytes were written and read, each counted from the beginning. */
interface Backpressure {
  written(all: number): void;
  /** A reader has received this many bytes. */
  taken(all: number): void;
  /** A reader has started. Call the returned function when it leaves. */
  entered(): () => void;
}

/** How long a writer waits after the last reader has left, in milliseconds. */
const ABANDONED_MS = 60_000;

/**
 * Pauses the writer while it is `ahead` bytes or more ahead of the furthest reader. If there is no reader for
 * `patienceMs` milliseconds, the writer continues.
 */
export function createBackpressure({ pause, resume }: Flow, ahead: number, patienceMs = ABANDONED_MS): Backpressure {
  let written = 0;
  let furthest = 0;
  let readers = 0;
  let paused = false;
  let abandoned = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const decide = () => {
    const should = !abandoned && written - furthest >= ahead;
    if (should === paused) return;
    paused = should;
    if (paused) pause();
    else resume();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      abandoned = true;
      decide();
    }, patienceMs);
    timer.unref?.();
  };
  wait();
  return {
    written: (all) => {
      written = all;
      decide();
    },
    taken: (all) => {
      furthest = Math.max(furthest, all);
      decide();
    },
    entered: () => {
      readers++;
      clearTimeout(timer);
      abandoned = false;
      decide();
      return () => {
        readers--;
        if (readers === 0) wait();
      };
    },
  };
}
