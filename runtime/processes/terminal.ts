/** Starts a program on a terminal of its own; it must not read or limit its output. @module */
import type { Buffer } from "node:buffer";
import { constants } from "node:os";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { checkCommand, type Command, SpawnError } from "./command.ts";
import { findExecutable } from "./executable.ts";
import { checkCwd, type Ended, type Running } from "./spawn.ts";

/** Size of a terminal, in characters; each from 1 to 65535. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** A process with a terminal: all its output is `stdout`, and `stdin` is always there. */
export type RunningTerminal = Running & { stdin: Writable; resize(size: TerminalSize): void };

/** Ctrl-D: what a terminal has instead of an end of input. */
const END_OF_INPUT = "\x04";
/** How much may wait for a slow reader before the program is held up. */
const HIGH_WATER_BYTES = 256 * 1024;
const MOST_CHARACTERS = 0xffff;

/**
 * Starts `command` as leader of a session with a controlling terminal, without a shell.
 *
 * A reader that is more than 0.2 s behind when the program ends may lose the last few KiB: node-pty closes then.
 *
 * @throws {SpawnError} if it could not be started, or there are no terminals here
 */
export async function startTerminal(command: Command, size: TerminalSize): Promise<RunningTerminal> {
  checkCommand(command);
  checkSize(size);
  await checkCwd(command.cwd);
  const env = { ...process.env, ...command.env } as Record<string, string>;
  const { TERM: name = "xterm-256color" } = command.env;
  // The child of a fork has no way to say what went wrong: it is looked at before.
  const [argv0 = "", ...args] = command.argv;
  const file = await findExecutable(argv0, command.cwd, env["PATH"]);
  const { spawn } = await loadPTY();
  const pty = spawn(file, args, { ...size, name, cwd: command.cwd, env, encoding: null });
  const stdout = new Readable({ read: () => pty.resume(), highWaterMark: HIGH_WATER_BYTES });
  // With encoding null these are bytes, whatever the types of the library say.
  pty.onData((data) => stdout.push(data as unknown as Buffer) || pty.pause());
  const ended = new Promise<Ended>((resolve) =>
    pty.onExit(({ exitCode, signal }) => {
      stdout.push(null);
      resolve(signal ? { exitCode: -1, signal: signalName(signal) } : { exitCode, signal: undefined });
    })
  );
  const stdin = new Writable({
    write: (data, _encoding, done) => {
      pty.write(data);
      done();
    },
    final: (done) => {
      pty.write(END_OF_INPUT);
      done();
    },
  });
  const resize = (to: TerminalSize) => {
    checkSize(to);
    pty.resize(to.cols, to.rows);
  };
  return { pid: pty.pid, stdin, stdout, stderr: Readable.from([]), extra: [], ended, resize };
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

/** A native module, loaded when the first terminal is asked for: without it everything else still works. */
async function loadPTY(): Promise<typeof import("@lydell/node-pty")> {
  try {
    return await import("@lydell/node-pty");
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new SpawnError("failed", `Cannot open a terminal: ${why}`);
  }
}

function signalName(number: number): NodeJS.Signals | undefined {
  const entries = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return entries.find(([, value]) => value === number)?.[0];
}
