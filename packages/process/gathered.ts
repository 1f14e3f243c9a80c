/** Bytes that come in parts, as one: a part of one byte costs a hundred where it is kept as it came. @module */
import { Buffer } from "node:buffer";

/** What has come so far. */
export interface Gathered {
  add(part: Uint8Array): void;
  /** In bytes. */
  size(): number;
  /** Returns all of it, and is empty again. */
  take(): Buffer;
}

const LEAST_BYTES = 1024;

/** Makes one that is empty, and never takes more than twice what it holds. */
export function createGathered(): Gathered {
  let held = Buffer.alloc(0);
  let size = 0;
  return {
    add(part) {
      if (size + part.length > held.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, 2 * held.length, size + part.length));
        held.copy(larger, 0, 0, size);
        held = larger;
      }
      held.set(part, size);
      size += part.length;
    },
    size: () => size,
    take() {
      const taken = held.subarray(0, size);
      held = Buffer.alloc(0);
      size = 0;
      return taken;
    },
  };
}
