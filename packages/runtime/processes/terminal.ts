/** Starts a program on a terminal of its own; it must not read or limit its output. @module */
import process from "node:process";
import { Readable, type Writable } from "node:stream";
import { ReadStream } from "node:tty";
import { checkCommand, type Command, SpawnError } from "./command.ts";
import { abandon } from "./drain.ts";
import { findExecutable } from "./executable.ts";
import { openPTY, type PTY } from "./pty.ts";
import { checkCwd, launch, type Running } from "./spawn.ts";
import { typing } from "./typing.ts";

/** Size of a terminal, in characters; each from 1 to 65535. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** A process with a terminal: all its output is `stdout`, and `stdin` is always there. */
export type RunningTerminal = Running & { stdin: Writable; resize(size: TerminalSize): void };

/** How much may wait for a slow reader before the program is held up. */
const HIGH_WATER_BYTES = 256 * 1024;
const MOST_CHARACTERS = 0xffff;
/** The leader of a session gets the first terminal that it opens as its controlling one; then it becomes the program. */
const ON_TERMINAL = ["/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0'];

/**
 * Starts `command` as leader of a session with a controlling terminal; a shell opens the terminal, none reads it.
 *
 * @throws {SpawnError} if it could not be started, or there are no terminals here
 */
export async function startTerminal(command: Command, size: TerminalSize): Promise<RunningTerminal> {
  checkCommand(command);
  checkSize(size);
  await checkCwd(command.cwd);
  const env: Record<string, string> = { TERM: "xterm-256color", ...command.env };
  // The shell could not say what went wrong: it is looked at before.
  const [name = "", ...args] = command.argv;
  const file = await findExecutable(name, command.cwd, env["PATH"] ?? process.env["PATH"]);
  const pty = await openPTY(size.cols, size.rows);
  let socket: ReadStream | undefined;
  try {
    socket = readMaster(pty);
    const onTerminal = (argv: string[]) => [...ON_TERMINAL, pty.pty, ...argv];
    const all = { ...command, argv: [file, ...args], env };
    const { pid, ended, killAll } = await launch(all, ["ignore", "ignore", "ignore"], onTerminal);
    // Not before: the terminal would hang up on a program that closes its descriptors and then takes a while.
    ended.then(pty.closeSlave);
    return { pid, ended, kill: killAll, extra: [], ...streamsOf(socket, pty, ended), resize: resizing(pty) };
  } catch (error) {
    socket?.destroy();
    pty.closeSlave();
    throw error;
  }
}

/** @throws {SpawnError} on Deno without leave to write everywhere: it asks for that to read a terminal */
function readMaster(pty: PTY): ReadStream {
  try {
    return new ReadStream(pty.master).once("close", pty.masterClosed);
  } catch (error) {
    throw new SpawnError("failed", `Cannot open a terminal: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function resizing(pty: PTY): RunningTerminal["resize"] {
  return (size) => {
    checkSize(size);
    pty.resize(size.cols, size.rows);
  };
}

function streamsOf(socket: ReadStream, { master }: PTY, ended: Promise<unknown>) {
  const stdout = reading(socket);
  const release = () => {
    abandon(stdout);
    ended.then(() => stdout.destroy());
  };
  return { stdin: typing(socket, master), stdout, stderr: Readable.from([]), release };
}

/** The end of a terminal's output is the error EIO: here it is an end as any other. */
function reading(socket: ReadStream): Readable {
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
