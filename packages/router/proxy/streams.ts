/** Passes streams of bytes on as fast as they are taken, and joins small chunks. @module */
import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { hasBody, isHttp2 } from "./versions.ts";

/** Where bytes are written: a socket, a request or an answer. */
interface Sink {
  destroyed: boolean;
  /** `taken` is called when the bytes have been sent, or never will be. */
  write(chunk: Buffer, taken: () => void): boolean;
}

/** Most chunks that are on their way: each uses more memory than its bytes. */
const MOST_PARTS = 16;

/** Passes all data until the sink is destroyed; later data is dropped. */
export function passBytes(source: Readable, sink: Sink): void {
  let parts = 0;
  let isPaused = false;
  const taken = () => {
    parts--;
    if (parts > 0 || !isPaused) return;
    isPaused = false;
    source.resume();
  };
  source.on("data", (chunk: Buffer) => {
    if (sink.destroyed) return;
    parts++;
    const mayContinue = sink.write(chunk, taken);
    if (isPaused || (mayContinue && parts < MOST_PARTS)) return;
    isPaused = true;
    source.pause();
  });
}

/** Smaller chunks cost more to store than to copy. */
const SMALL_BYTES = 1024;
/** Size of joined chunks while the stream is paused. */
const PIECE_BYTES = 16 * 1024;
/**
 * One read may bring ten thousand small chunks. A stream with more than this in a turn takes turns with similar ones.
 */
const MOST_IN_TURN = 1024;

/**
 * Joins small chunks of a stream from now on. The first chunk in a turn of the event loop passes at once, the others
 * together at the end of the turn. If the stream is paused, they wait until it is resumed, or until there are many.
 *
 * @param stream must be read with the event `data`: a reader that waits for `readable` might wait forever
 */
export function coalesce(stream: Readable): void {
  const { push } = stream;
  const waiting = createByteBuffer();
  let inTurn = 0;
  const pass = () => stream.destroyed || push.call(stream, waiting.take());
  const flush = () => waiting.size() === 0 || pass();
  const endTurn = () => {
    if (inTurn > MOST_IN_TURN && !takesTurn()) return void setImmediate(endTurn);
    inTurn = 0;
    if (stream.readableFlowing || stream.readableLength === 0) flush();
  };
  // Chunks must be joined before they enter the stream's own buffer, in which each of them is an object.
  stream.push = (part: Uint8Array | null, ...rest) => {
    if (part === null || part.length >= SMALL_BYTES) {
      flush();
      return push.call(stream, part, ...rest);
    }
    if (inTurn++ === 0) setImmediate(endTurn);
    if (inTurn === 1 && waiting.size() === 0 && stream.readableLength === 0) return push.call(stream, part, ...rest);
    waiting.add(part);
    if (waiting.size() >= PIECE_BYTES) return pass();
    return inTurn <= MOST_IN_TURN && stream.readableLength + waiting.size() < stream.readableHighWaterMark;
  };
  stream.on("resume", flush);
}

let isTaken = false;

/** Lets one of the streams with many small chunks continue in each turn, so that other streams need not wait longer. */
function takesTurn(): boolean {
  if (isTaken) return false;
  isTaken = true;
  setImmediate(() => isTaken = false);
  return true;
}

/** Joins small chunks of a request's body, if it has one. In HTTP/2 the body passes through two streams. */
export function coalesceBody(request: IncomingMessage): void {
  if (!hasBody(request)) return;
  if (isHttp2(request)) coalesce((request as unknown as Http2ServerRequest).stream);
  coalesce(request);
}
