/** Runs a command until its end, and returns its output. @module */
import type { Readable } from "node:stream";
import { createGathered, type Gathered } from "../../process/gathered.ts";
import type { Command } from "./command.ts";
import { drained } from "./drain.ts";
import { watchLimits } from "./limits.ts";
import { type Running, start } from "./spawn.ts";

export { type Command, SpawnError, type SpawnErrorCode } from "./command.ts";

/** Limits of a command. */
export interface RunLimits {
  /** Milliseconds until the command and all processes that it started are killed; undefined: no limit. */
  timeoutMs: number | undefined;
  /** Largest number of bytes kept of stdout and of stderr. The rest is dropped. */
  outputBytes: number;
  /** Kills the command and all processes that it started when it aborts. */
  signal?: AbortSignal;
  /** At `outputBytes`, `discard` lets the command continue, and `kill` kills it. @default {"discard"} */
  overflow?: "discard" | "kill";
  /** Called when the program runs. */
  onStart?: (running: Running) => void;
}

/** Result of a command. */
export interface Finished {
  stdout: Uint8Array;
  stderr: Uint8Array;
  /** -1 if a signal ended it, including our own. */
  exitCode: number;
  /** Whether it was killed at the time limit. */
  timedOut: boolean;
  /** Whether stdout or stderr had more than `outputBytes`. */
  truncated: boolean;
}

/**
 * Runs `command` without a shell, with empty standard input, in its own session and process group.
 *
 * At the time limit or on abort, the command and all processes that it has started get SIGKILL (see `killAllOf`). If
 * the command ends by itself, its background processes continue, as after a shell's `&`: a user may start a server this
 * way. Such a process may hold the pipes open. The function therefore returns when the command has ended and its output
 * has arrived, and drops later output of background processes.
 *
 * @throws {SpawnError} if no process was started
 */
export async function run(command: Command, limits: RunLimits): Promise<Finished> {
  const process = await start(command);
  limits.onStart?.(process);
  let timedOut = false;
  let truncated = false;
  const onOverflow = () => {
    truncated = true;
    if (limits.overflow === "kill") process.kill();
  };
  const stdout = keep(process.stdout, limits.outputBytes, onOverflow);
  const stderr = keep(process.stderr, limits.outputBytes, onOverflow);
  const unwatch = watchLimits(limits.timeoutMs, limits.signal, (why) => {
    timedOut = why === "timeout";
    process.kill();
  });
  const { exitCode } = await process.ended;
  unwatch();
  await drained([process.stdout, process.stderr]);
  process.release();
  return { stdout: stdout.take(), stderr: stderr.take(), exitCode, timedOut, truncated };
}

/** Collects the first `limit` bytes. */
function keep(stream: Readable, limit: number, onOverflow: () => void): Gathered {
  const gathered = createGathered();
  stream.on("data", (part: Uint8Array) => {
    const left = limit - gathered.size();
    if (part.length > left) onOverflow();
    if (left > 0) gathered.add(part.subarray(0, left));
  });
  return gathered;
}
