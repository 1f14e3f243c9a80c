/** Bytes that come in parts, as one, without Node's Buffer: a part of one byte costs a hundred where it is kept as it came. @module */

type Bytes = Uint8Array<ArrayBuffer>;

/** What has come so far. */
export interface Gathered {
  add(part: Uint8Array): void;
  /** In bytes. */
  size(): number;
  /** Shows all of it, until more is added. */
  peek(): Bytes;
  /** Returns all of it, and is empty again. */
  take(): Bytes;
  /** The same as text, UTF-8. */
  takeText(): string;
}

const LEAST_BYTES = 1024;

/** Makes one that is empty, and takes no more than twice what it holds, or 1 KiB. */
export function createGathered(): Gathered {
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
    // A mark at the beginning is text like any other.
    takeText: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(take()),
  };
}
