/** Starts a program in its own terminal, and connects its input and output without blocking. @module */
import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers";
import { ReadStream } from "node:tty";
import { ON_DENO } from "../../process/runprocess.ts";
import { codeOf } from "../confine.ts";
import { checkCommand, type Command, composeEnvironment, findExecutable, SpawnError } from "./command.ts";
import { abandon } from "./output.ts";
import { openPTY, type PTY } from "./pty.ts";
import { checkCwd, launch, type Running } from "./spawn.ts";

/** Size of a terminal, in characters; from 1 to 65535. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** A process in a terminal. All of its output is in `stdout`, and `stdin` always exists. */
export type RunningTerminal = Running & { stdin: Writable; resize(size: TerminalSize): void };

/** Unread output in bytes from which the program has to wait. */
const HIGH_WATER_BYTES = 256 * 1024;
const MOST_CHARACTERS = 0xffff;
/**
 * The first terminal that a session leader opens becomes its controlling terminal. Then the shell replaces itself by
 * the program.
 */
const ON_TERMINAL = ["/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0'];

/**
 * Starts `command` as a session leader with a controlling terminal. A shell only opens the terminal; it does not
 * interpret the command.
 *
 * @throws {SpawnError} if it could not be started, or terminals are not available
 */
export async function startTerminal(command: Command, size: TerminalSize): Promise<RunningTerminal> {
  checkCommand(command);
  checkSize(size);
  await checkCwd(command.cwd);
  // Checked before, because the shell cannot report why it failed.
  const [name = "", ...args] = command.argv;
  const file = await findExecutable(name, command.cwd, composeEnvironment(command)["PATH"] ?? "");
  const pty = await openPTY(size.cols, size.rows);
  let socket: ReadStream | undefined;
  try {
    socket = readMaster(pty);
    const onTerminal = (argv: string[]) => [...ON_TERMINAL, pty.pty, ...argv];
    const all = { ...command, argv: [file, ...args] };
    const { pid, passed, ended, killAll } = await launch(all, ["ignore", "ignore", "ignore"], onTerminal);
    // Not earlier: a program that closes its descriptors before it ends would get a hangup.
    ended.then(pty.closeSlave);
    return {
      pid,
      passed,
      ended,
      kill: killAll,
      extra: [],
      ...streamsOf(socket, pty, ended),
      resize: createResize(pty),
    };
  } catch (error) {
    socket?.destroy();
    pty.closeSlave();
    throw error;
  }
}

/** @throws {SpawnError} on Deno without permission to write everywhere, which it requires for reading a terminal */
function readMaster(pty: PTY): ReadStream {
  try {
    return new ReadStream(pty.master).once("close", pty.masterClosed);
  } catch (error) {
    throw new SpawnError("failed", `Cannot open a terminal: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function createResize(pty: PTY): RunningTerminal["resize"] {
  return (size) => {
    checkSize(size);
    pty.resize(size.cols, size.rows);
  };
}

function streamsOf(socket: ReadStream, { master }: PTY, ended: Promise<unknown>) {
  const stdout = createTerminalOutput(socket);
  const release = () => {
    abandon(stdout);
    ended.then(() => stdout.destroy());
  };
  return { stdin: createTerminalInput(socket, master), stdout, stderr: Readable.from([]), release };
}

/** The output of a terminal ends with the error EIO. Here that is a normal end. */
function createTerminalOutput(socket: ReadStream): Readable {
  const stdout = new Readable({
    read: () => {
      socket.resume();
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
    highWaterMark: HIGH_WATER_BYTES,
  });
  socket.on("data", (data) => stdout.push(data) || socket.pause());
  socket.on("error", () => {});
  socket.on("close", () => stdout.push(null));
  return stdout;
}

function checkSize({ cols, rows }: TerminalSize): void {
  for (const value of [cols, rows]) {
    if (!Number.isInteger(value) || value < 1 || value > MOST_CHARACTERS) {
      throw new SpawnError(
        "invalid",
        `Cannot make a terminal of ${cols} by ${rows} characters: each is from 1 to 65535`,
      );
    }
  }
}

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
function createTerminalInput(socket: ReadStream, master: number): Writable {
  const type = (bytes: Uint8Array, done: Done) => {
    // The descriptor is closed, and its number may belong to another file.
    if (socket.destroyed) return done(new Error("Cannot write: the terminal is closed"));
    // Deno's writeSync() accepts only descriptors that Deno has opened.
    if (ON_DENO) return void socket.write(bytes, done);
    writeInTurns(socket, master, bytes, done);
  };
  const stdin = new Writable({
    write: (bytes, _encoding, done) => type(bytes, done),
    final: (done) => type(Buffer.from(END_OF_INPUT), done),
  });
  return stdin.on("error", () => {});
}

function writeInTurns(socket: ReadStream, master: number, bytes: Uint8Array, done: Done): void {
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
