/** Starts a program as the leader of a new session and process group. @module */
import { type ChildProcess, type IOType, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { Duplex, Readable, Writable } from "node:stream";
import { abandon } from "./output.ts";
import { type Direction, openPipes } from "./pipes.ts";
import { createMark, killAllOf, rememberSession } from "./killall.ts";
import { checkCommand, type Command, composeEnvironment, passLong, SpawnError } from "./command.ts";
import { hideInheritable } from "./pty.ts";

/** How a process ended. The exit code is -1 if a signal ended it, as in `process.v1`. */
interface ExitStatus {
  exitCode: number;
  signal: NodeJS.Signals | undefined;
}

/** A started process. */
export interface Running {
  /** Also the id of its group and session. */
  pid: number;
  /** Undefined: its standard input is empty. */
  stdin: Writable | undefined;
  stdout: Readable;
  stderr: Readable;
  /** The requested additional descriptors, from 3. */
  extra: Duplex[];
  /** Resolves when this process has ended, even if others keep its pipes open. */
  ended: Promise<ExitStatus>;
  /** Kills the process and all processes that it has started. Does nothing if the process has ended. */
  kill(): void;
  /** Drops all further output, so that background processes do not block on a full pipe. */
  release(): void;
}

/** Descriptors of a process in addition to its output. */
export interface StartOptions {
  /** Keeps standard input open. @default {false} */
  stdin?: boolean;
  /**
   * Additional descriptors, from 3: the number of sockets for both directions, or the directions of pipes. A process can
   * open a pipe by its name, `/dev/fd/3`, but not a socket.
   *
   * @default {0}
   */
  extra?: number | Direction[];
}

/**
 * Starts `command` without a shell; resolves when the program runs.
 *
 * @throws {SpawnError} if it could not be started
 */
export async function start(command: Command, options: StartOptions = {}): Promise<Running> {
  checkCommand(command);
  await checkCwd(command.cwd);
  const pipes = await openPipes(options.stdin ? ["read", "read", "write"] : ["read", "read"]);
  const { extra: more = 0 } = options;
  const named = await openPipes(typeof more === "number" ? [] : more);
  const count = typeof more === "number" ? more : more.length;
  const extra = Array.from({ length: count }, (_, index) => named[index]?.fd ?? "pipe" as const);
  try {
    const [out = "pipe", err = "pipe", input = options.stdin ? "pipe" : "ignore"] = pipes.map(({ fd }) => fd);
    const child = await launch(command, [input, out, err, ...extra]);
    const [stdout = child.stdout, stderr = child.stderr, stdin = child.stdin] = pipes.map(({ socket }) => socket);
    if (!stdout || !stderr) throw new TypeError(`Cannot read from process ${child.pid}: it has no pipes`);
    for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => {});
    // The writing end of a FIFO does not notice that the reader has gone.
    child.ended.then(() =>
      [stdin, ...named.map(({ socket }) => socket)].forEach((one) => one?.writable && one.destroy())
    );
    return {
      pid: child.pid,
      stdin: stdin ?? undefined,
      stdout,
      stderr,
      extra: extra.map((_, index) => named[index]?.socket ?? child.stdio[3 + index] as Duplex),
      ended: child.ended,
      kill: child.killAll,
      release: () => [stdout, stderr].forEach(abandon),
    };
  } catch (error) {
    for (const { socket } of [...pipes, ...named]) socket.destroy();
    throw error;
  } finally {
    for (const pipe of [...pipes, ...named]) pipe.close();
  }
}

type Child = ChildProcess & { pid: number; ended: Promise<ExitStatus>; killAll(): void };

/**
 * Starts the leader of a new session.
 *
 * @param through wraps the command in another command that starts it
 * @throws {SpawnError}
 */
export function launch(
  command: Command,
  stdio: (IOType | number)[],
  through: (argv: string[]) => string[] = (argv) => argv,
): Promise<Child> {
  return new Promise((resolve, reject) => {
    const [file = ""] = command.argv;
    const fail = (error: Error) => reject(spawnError(file, error));
    try {
      const { mark, env: marked } = createMark();
      const env = { ...composeEnvironment(command), ...marked };
      const { argv, script } = passLong(command.argv, env, stdio.length);
      const [program = "", ...args] = through(argv);
      const all = script === undefined ? stdio : [...stdio, "pipe" as const];
      // `detached` calls setsid(2). A signal to the negative pid then reaches all descendants in the group.
      const child = spawn(program, args, { cwd: command.cwd, env, stdio: hideInheritable(all), detached: true });
      const ended = new Promise<ExitStatus>((resolveEnd) =>
        child.once("exit", (code, signal) => resolveEnd({ exitCode: code ?? -1, signal: signal ?? undefined }))
      );
      child.once("error", fail);
      child.once("spawn", () => {
        child.off("error", fail);
        child.on("error", () => {});
        if (script !== undefined) (child.stdio[stdio.length] as Writable).on("error", () => {}).end(script);
        const pid = child.pid ?? 0;
        rememberSession(pid, ended);
        // After Node has waited for the leader's end, the id may belong to another process.
        const killAll = () => child.exitCode === null && child.signalCode === null && killAllOf({ pid, mark });
        resolve(Object.assign(child, { pid, ended, killAll }));
      });
    } catch (error) {
      fail(error as Error);
    }
  });
}

/** Checks that the folder can be entered. For spawn, a missing folder and a missing program are both ENOENT. */
export async function checkCwd(cwd: string): Promise<void> {
  const isFolder = await stat(cwd).then((found) => found.isDirectory(), () => false);
  const quoted = JSON.stringify(cwd);
  if (!isFolder) throw new SpawnError("bad-cwd", `Cannot run in ${quoted}: it is not a folder that can be entered`);
  await access(cwd, constants.X_OK).catch(() => {
    throw new SpawnError("not-executable", `Cannot run in ${quoted}: permission denied`);
  });
}

function spawnError(file: string, error: Error): SpawnError {
  if (error instanceof SpawnError) return error;
  const code = "code" in error ? String(error.code) : "";
  const name = JSON.stringify(file);
  if (code === "ENOENT" || code === "ENOTDIR") return new SpawnError("not-found", `Cannot run ${name}: not found`);
  if (code === "EACCES" || code === "EPERM") {
    return new SpawnError("not-executable", `Cannot run ${name}: permission denied`);
  }
  if (code === "E2BIG") {
    const why = "its arguments and variables together are longer than the system allows (2 MiB in most cases)";
    return new SpawnError("invalid", `Cannot run ${name}: ${why}`);
  }
  return new SpawnError("failed", `Cannot run ${name}: ${code || error.message}`);
}
