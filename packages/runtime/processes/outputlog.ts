/**
 * Keeps the last output of a process in memory, so that clients can read it from any offset. Can pause a process that
 * writes faster than its clients read. @module
 */

/** A piece of output. `offset` counts the bytes of both streams in the order in which they arrived. */
interface Piece {
  offset: number;
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** What a reader gets: a piece, or a gap, which means that all output before `beforeOffset` is lost. */
export type LogRead = { piece: Piece } | { beforeOffset: number };

/** Output of one process. */
export interface OutputLog {
  append(stream: Piece["stream"], bytes: Uint8Array): void;
  /** Ends the log. Call it when the process has written its last output. */
  end(): void;
  /** Offset of the next byte. */
  size(): number;
  /** Memory of the kept output in bytes, including the overhead of its pieces. */
  memoryBytes(): number;
  /** Drops the kept output. Readers learn that everything before `size` is lost. */
  drop(): void;
  /** Records that the client has received all output before `offset`. */
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
 * Output is added to the last piece if both are from the same stream and the piece then has at most this many bytes.
 * Without this, a program that writes line by line would create a piece for each line.
 */
const SMALL_BYTES = 4 * 1024;
/** Memory that each piece needs in addition to its bytes, so that a log of tiny pieces also stays within its limit. */
const PIECE_OVERHEAD_BYTES = 128;
/** How far the writer may be ahead of the acknowledged output, in bytes. */
const AHEAD_BYTES = 1 << 20;
/**
 * Memory for output that can still arrive after the writer was paused: the piece that reached the limit, and one piece
 * of the other stream.
 */
const LATE_BYTES = 2 * (PIECE_BYTES + PIECE_OVERHEAD_BYTES);

/**
 * Creates a log that keeps about the last `keepBytes` bytes.
 *
 * @param writer is paused while readers are too slow, so that they lose no output; the log then keeps at least 256 KiB.
 * Absent: the process is never paused, and slow readers lose output
 */
export function createOutputLog(keepBytes: number, writer?: PausableWriter): OutputLog {
  const limitBytes = writer ? Math.max(keepBytes, 2 * LATE_BYTES) : keepBytes;
  const store = createStore(limitBytes);
  const backpressure = writer && createBackpressure(writer, Math.min(AHEAD_BYTES, limitBytes - LATE_BYTES));
  let ended = false;
  let changed = Promise.withResolvers<void>();
  const notify = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    append: (stream, bytes) => {
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
        store.add(stream, bytes.slice(start, start + PIECE_BYTES));
      }
      backpressure?.onWritten(store.total());
      notify();
    },
    end: () => {
      ended = true;
      notify();
    },
    size: store.size,
    memoryBytes: store.memoryBytes,
    drop: store.drop,
    acknowledge: (offset) => backpressure?.onDelivered(store.totalBefore(offset)),
    async *read(offset, { follow, signal }) {
      // Not Promise.race(): each iteration would add a callback to a promise of the signal, and never remove it.
      signal?.addEventListener("abort", notify);
      const onReaderLeft = backpressure?.onReaderStarted();
      let next = offset;
      try {
        while (!signal?.aborted) {
          const oldest = store.oldest();
          if (next < oldest) {
            yield { beforeOffset: oldest };
            next = oldest;
            // The caller may have aborted the signal after it got the gap.
            continue;
          }
          const piece = store.pieceAt(next);
          if (piece) {
            yield { piece };
            next = piece.offset + piece.bytes.length;
          } else if (ended || !follow) return;
          else await changed.promise;
        }
      } finally {
        signal?.removeEventListener("abort", notify);
        onReaderLeft?.();
      }
    },
  };
}

interface StoredPiece extends Piece {
  /** Memory in bytes, with overhead, of all output from the first byte to the end of this piece. */
  totalUntilEnd: number;
}

interface Store {
  add(stream: Piece["stream"], bytes: Uint8Array): void;
  size(): number;
  /** Memory of the kept pieces in bytes, with their overhead. */
  memoryBytes(): number;
  drop(): void;
  /** Memory in bytes, with overhead, of all output so far, including what was dropped. */
  total(): number;
  /** As `total`, but only of the pieces that end at or before `offset`. */
  totalBefore(offset: number): number;
  /** Offset of the first byte that is still kept. */
  oldest(): number;
  /** The piece that contains the byte at `offset`, starting with that byte; undefined if it has not arrived yet. */
  pieceAt(offset: number): StoredPiece | undefined;
}

function createStore(limitBytes: number): Store {
  let pieces: StoredPiece[] = [];
  let first = 0;
  let memoryBytes = 0;
  let total = 0;
  let size = 0;
  const dropOldest = () => {
    while (memoryBytes > limitBytes && first < pieces.length) {
      memoryBytes -= PIECE_OVERHEAD_BYTES + (pieces[first++]?.bytes.length ?? 0);
    }
    if (first <= pieces.length / 2) return;
    pieces = pieces.slice(first);
    first = 0;
  };
  return {
    add: (stream, bytes) => {
      const last = pieces.at(-1);
      const isJoined = last && pieces.length > first && last.stream === stream &&
        last.bytes.length + bytes.length <= SMALL_BYTES;
      const added = bytes.length + (isJoined ? 0 : PIECE_OVERHEAD_BYTES);
      total += added;
      if (isJoined) {
        pieces[pieces.length - 1] = { ...last, bytes: concatenated(last.bytes, bytes), totalUntilEnd: total };
      } else pieces.push({ offset: size, stream, bytes, totalUntilEnd: total });
      memoryBytes += added;
      size += bytes.length;
      dropOldest();
    },
    size: () => size,
    memoryBytes: () => memoryBytes,
    drop: () => {
      pieces = [];
      first = 0;
      memoryBytes = 0;
    },
    total: () => total,
    totalBefore: (offset) => {
      const next = pieces[pieceIndex(pieces, first, offset)];
      return next ? next.totalUntilEnd - next.bytes.length - PIECE_OVERHEAD_BYTES : total;
    },
    oldest: () => pieces[first]?.offset ?? size,
    pieceAt: (offset) => pieceFrom(pieces[pieceIndex(pieces, first, offset)], offset),
  };
}

/** Returns the index, at least `low`, of the first piece that ends after `offset`. Uses binary search. */
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

/** Returns the part of the piece from `offset`. */
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

/** The pipes of the process that writes the output. */
export interface PausableWriter {
  pause(): void;
  resume(): void;
}

/** Decides when the writer must wait. Both totals are counted from the first byte, with overhead. */
interface Backpressure {
  /** The writer has written `total` bytes. */
  onWritten(total: number): void;
  /** A reader has received `total` bytes. */
  onDelivered(total: number): void;
  /** A reader has started. Call the returned function when this reader leaves. */
  onReaderStarted(): () => void;
}

/** If there is no reader for this time, in milliseconds, the writer continues. */
const NO_READER_MS = 60_000;

/**
 * Pauses the writer while it has written at least `ahead` bytes more than any reader has received. If there is no
 * reader for `noReaderMs` milliseconds, the writer continues.
 */
export function createBackpressure(
  { pause, resume }: PausableWriter,
  ahead: number,
  noReaderMs = NO_READER_MS,
): Backpressure {
  let written = 0;
  let delivered = 0;
  let readers = 0;
  let isPaused = false;
  let isAbandoned = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const decide = () => {
    const mustPause = !isAbandoned && written - delivered >= ahead;
    if (mustPause === isPaused) return;
    isPaused = mustPause;
    if (isPaused) pause();
    else resume();
  };
  const startTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isAbandoned = true;
      decide();
    }, noReaderMs);
    timer.unref?.();
  };
  startTimer();
  return {
    onWritten: (total) => {
      written = total;
      decide();
    },
    onDelivered: (total) => {
      delivered = Math.max(delivered, total);
      decide();
    },
    onReaderStarted: () => {
      readers++;
      clearTimeout(timer);
      isAbandoned = false;
      decide();
      return () => {
        readers--;
        if (readers === 0) startTimer();
      };
    },
  };
}
