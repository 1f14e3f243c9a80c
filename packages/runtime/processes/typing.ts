/** Writes input to a terminal, without blocking if the program does not read. @module */
import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers";
import type { ReadStream } from "node:tty";
import { codeOf } from "../confine.ts";
import { ON_DENO } from "../../process/ondeno.ts";

/** Ctrl-D, which a terminal uses instead of an end of input. */
const END_OF_INPUT = "\x04";
/** Largest number of bytes per turn of the event loop; about as much as a terminal holds. */
const TURN_BYTES = 64 * 1024;
/** First and longest wait before writing to a full terminal is tried again, in milliseconds. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [1, 100];

type Done = (error?: Error | null) => void;

/**
 * Creates the input stream of a terminal. Node's own `socket.write()` would try again without a pause, and block the
 * event loop until the program reads.
 *
 * @param socket reads the same terminal, and closes `master`
 * @param master a non-blocking descriptor
 */
export function typing(socket: ReadStream, master: number): Writable {
  const type = (bytes: Uint8Array, done: Done) => {
    // The descriptor is closed, and its number may belong to another file.
    if (socket.destroyed) return done(new Error("Cannot write: the terminal is closed"));
    // Deno's writeSync() accepts only descriptors that Deno has opened.
    if (ON_DENO) return void socket.write(bytes, done);
    typeOn(socket, master, bytes, done);
  };
  const stdin = new Writable({
    write: (bytes, _encoding, done) => type(bytes, done),
    final: (done) => type(Buffer.from(END_OF_INPUT), done),
  });
  return stdin.on("error", () => {});
}

function typeOn(socket: ReadStream, master: number, bytes: Uint8Array, done: Done): void {
  let left = bytes;
  let wait = FIRST_WAIT_MS;
  const goOn = () => {
    if (socket.destroyed) return done(new Error("Cannot write: the terminal is closed"));
    try {
      left = left.subarray(writeSync(master, left, 0, Math.min(left.length, TURN_BYTES)));
      wait = FIRST_WAIT_MS;
    } catch (error) {
      if (codeOf(error) !== "EAGAIN") return done(error as Error);
      setTimeout(goOn, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
      return;
    }
    if (left.length === 0) done();
    else setImmediate(goOn);
  };
  goOn();
}
