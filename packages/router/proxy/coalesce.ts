/** Has what comes in small parts wait in few: what streams count is bytes, and a part of one byte costs two hundred. @module */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers";
import { createGathered } from "../../process/gathered.ts";
import { hasBody, isHttp2 } from "./versions.ts";

/** A part that is smaller costs more to keep than to copy. */
const SMALL_BYTES = 1024;
/** What small parts become where nobody takes them. */
const PIECE_BYTES = 16 * 1024;
/** A stream that brings more small parts in a turn, as one read may ten thousand, takes turns with its like. */
const MOST_IN_TURN = 1024;

/**
 * Has small parts of a stream come together, from now on. The first of a turn of the event loop goes on at once, the
 * others at the end of the turn; where the stream is paused, they wait until it goes on, or there are many.
 *
 * @param stream one that is read by its event `data`: who waits for `readable` might wait for ever
 */
export function coalesce(stream: Readable): void {
  const { push } = stream;
  const waiting = createGathered();
  let inTurn = 0;
  const pass = () => stream.destroyed || push.call(stream, waiting.take());
  const flush = () => waiting.size() === 0 || pass();
  const endTurn = () => {
    if (inTurn > MOST_IN_TURN && !takesTurn()) return void setImmediate(endTurn);
    inTurn = 0;
    if (stream.readableFlowing || stream.readableLength === 0) flush();
  };
  // A stream has no other place before its own buffer, in which each part is an object.
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

/** Of the streams that bring many small parts one goes on in each turn: all others wait for no more than that. */
function takesTurn(): boolean {
  if (isTaken) return false;
  isTaken = true;
  setImmediate(() => isTaken = false);
  return true;
}

/** Does so with the body of a request, if it has one; in HTTP/2 it goes through two streams. */
export function coalesceBody(request: IncomingMessage): void {
  if (!hasBody(request)) return;
  if (isHttp2(request)) coalesce((request as unknown as Http2ServerRequest).stream);
  coalesce(request);
}
