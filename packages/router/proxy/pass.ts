/** Passes bytes from one stream to another, as fast as they are taken. Ends neither stream. @module */
import type { Buffer } from "node:buffer";
import type { Readable } from "node:stream";

/** Where bytes are written: a socket, a request or an answer. */
export interface Sink {
  destroyed: boolean;
  /** `taken` is called when the bytes have been sent, or never will be. */
  write(chunk: Buffer, taken: () => void): boolean;
}

/** Most chunks that are on their way: each uses more memory than its bytes. */
const MOST_PARTS = 16;

/** Passes all data until the sink is destroyed; later data is dropped. */
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
