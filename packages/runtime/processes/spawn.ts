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
  /** Resolves when the process has its script, if that was too long for an argument, or has ended. */
  passed: Promise<void>;
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
      passed: child.passed,
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

type Child = ChildProcess & Pick<Running, "pid" | "passed"> & { ended: Promise<ExitStatus>; killAll(): void };

/**
 * Starts the leader of a new session.
 *
 * @param through wraps the command in another command that starts it
 * @throws {SpawnError}
 */
export async function launch(
  command: Command,
  stdio: (IOType | number)[],
  through: (argv: string[]) => string[] = (argv) => argv,
): Promise<Child> {
  const [file = ""] = command.argv;
  try {
    return await untilSpawned(spawnLeader(command, stdio, through));
  } catch (error) {
    throw spawnError(file, error as Error);
  }
}

interface Leader {
  child: ChildProcess;
  /** See `killAllOf`. */
  mark: string;
  passed: Promise<void>;
}

/** Has no closure that would keep the command in memory as long as the process runs. */
function spawnLeader(command: Command, stdio: (IOType | number)[], through: (argv: string[]) => string[]): Leader {
  const { mark, env: marked } = createMark();
  const env = { ...composeEnvironment(command), ...marked };
  const { argv, script } = passLong(command.argv, env, stdio.length);
  const [program = "", ...args] = through(argv);
  const all = script === undefined ? stdio : [...stdio, "pipe" as const];
  // `detached` calls setsid(2). A signal to the negative pid then reaches all descendants in the group.
  const child = spawn(program, args, { cwd: command.cwd, env, stdio: hideInheritable(all), detached: true });
  const passed = script === undefined ? Promise.resolve() : write(script, child.stdio?.[stdio.length] as Writable);
  return { child, mark, passed };
}

/** Resolves when all was written, or never will be. The pipe is absent if the system refused to start the process. */
function write(script: string, pipe: Writable | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (!pipe) resolve();
  pipe?.on("error", () => {}).on("close", resolve).end(script, () => resolve());
  return promise;
}

function untilSpawned({ child, mark, passed }: Leader): Promise<Child> {
  const ended = new Promise<ExitStatus>((resolveEnd) =>
    child.once("exit", (code, signal) => resolveEnd({ exitCode: code ?? -1, signal: signal ?? undefined }))
  );
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => {
      child.off("error", reject);
      child.on("error", () => {});
      const pid = child.pid ?? 0;
      rememberSession(pid, ended);
      // After Node has waited for the leader's end, the id may belong to another process.
      const killAll = () => child.exitCode === null && child.signalCode === null && killAllOf({ pid, mark });
      resolve(Object.assign(child, { pid, passed: Promise.race([passed, ended.then(() => {})]), ended, killAll }));
    });
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
