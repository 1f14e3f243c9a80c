/** Passes bytes from one stream to another, as they come, as fast as they are taken. Ends neither. @module */
import type { Buffer } from "node:buffer";
import type { Readable } from "node:stream";

/** What bytes are written to: a socket, a request, an answer. */
export interface Sink {
  destroyed: boolean;
  /** `taken` is called once the bytes have left, or never will. */
  write(chunk: Buffer, taken: () => void): boolean;
}

/** Parts that are on their way at a time: each costs more than its bytes. */
const MOST_PARTS = 16;

/** Passes all that comes, until the sink is destroyed; what comes then is dropped. */
export function pass(source: Readable, sink: Sink): void {
  let parts = 0;
  let isHeld = false;
  const taken = () => {
    parts--;
    if (parts > 0 || !isHeld) return;
    isHeld = false;
    source.resume();
  };
  source.on("data", (chunk: Buffer) => {
    if (sink.destroyed) return;
    parts++;
    const hasRoom = sink.write(chunk, taken);
    if (isHeld || (hasRoom && parts < MOST_PARTS)) return;
    isHeld = true;
    source.pause();
  });
}
