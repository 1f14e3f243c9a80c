/** What is typed into a terminal; it must not wait in a loop for a program that does not read. @module */
import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers";
import type { ReadStream } from "node:tty";
import { codeOf } from "../confine.ts";
import { ON_DENO } from "../../process/ondeno.ts";

/** Ctrl-D: what a terminal has instead of an end of input. */
const END_OF_INPUT = "\x04";
/** What is written in one turn of the event loop at most; a terminal holds about as much. */
const TURN_BYTES = 64 * 1024;
/** How soon a terminal that is full is tried again, and how seldom at last, in milliseconds. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [1, 100];

type Done = (error?: Error | null) => void;

/**
 * Makes the input of a terminal. Node's own `socket.write()` tries again without a pause, and nothing else runs, until
 * the program reads.
 *
 * @param socket reads the same terminal, and closes `master`
 * @param master a descriptor that does not block
 */
export function typing(socket: ReadStream, master: number): Writable {
  const type = (bytes: Uint8Array, done: Done) => {
    // The number may be another file's by now.
    if (socket.destroyed) return done(new Error("Cannot write: the terminal is closed"));
    // Deno's writeSync() knows only what Deno has opened.
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
