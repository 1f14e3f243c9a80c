/**
 * Collects chunks of bytes in one growing array, without Node's Buffer. Storing each chunk separately would take a
 * hundred bytes for a chunk of one byte.
 * @module
 */

type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes received so far. */
export interface ByteBuffer {
  add(part: Uint8Array): void;
  /** In bytes. */
  size(): number;
  /** Returns all bytes. The result is valid until more are added. */
  peek(): Bytes;
  /** Returns all bytes and empties the collection. */
  take(): Bytes;
  /** Like `take`, but returns the bytes as UTF-8 text. */
  takeText(): string;
}

const LEAST_BYTES = 1024;

/** Creates an empty collection. It uses at most twice the memory of its contents, or 1 KiB. */
export function createByteBuffer(): ByteBuffer {
  let held: Bytes = new Uint8Array(0);
  let size = 0;
  function take(): Bytes {
    const taken = held.subarray(0, size);
    held = new Uint8Array(0);
    size = 0;
    return taken;
  }
  return {
    add(part) {
      if (size + part.length > held.length) {
        const larger = new Uint8Array(Math.max(LEAST_BYTES, 2 * held.length, size + part.length));
        larger.set(held.subarray(0, size));
        held = larger;
      }
      held.set(part, size);
      size += part.length;
    },
    size: () => size,
    peek: () => held.subarray(0, size),
    take,
    // A byte order mark at the beginning is kept as text.
    takeText: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(take()),
  };
}
