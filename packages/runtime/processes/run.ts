/** Runs a command to its end and gives back what it wrote; it must not know who asked. @module */
import type { Readable } from "node:stream";
import { createGathered, type Gathered } from "../../process/gathered.ts";
import type { Command } from "./command.ts";
import { drained } from "./drain.ts";
import { watchLimits } from "./limits.ts";
import { type Running, start } from "./spawn.ts";

export { type Command, SpawnError, type SpawnErrorCode } from "./command.ts";

/** What a command may use. */
export interface RunLimits {
  /** Milliseconds until the whole group is killed; `undefined` for no limit. */
  timeoutMs: number | undefined;
  /** Bytes kept of each of stdout and stderr; the rest is read and thrown away. */
  outputBytes: number;
  /** Kills the whole group when it aborts. */
  signal?: AbortSignal;
  /** What happens at `outputBytes`: `discard` lets the command go on, `kill` ends it. @default {"discard"} */
  overflow?: "discard" | "kill";
  /** Called once the program runs. */
  onStart?: (running: Running) => void;
}

/** What came of it. */
export interface Finished {
  stdout: Uint8Array;
  stderr: Uint8Array;
  /** -1 when a signal ended it, also ours. */
  exitCode: number;
  /** It was still running at the time limit. */
  timedOut: boolean;
  /** More was written than `outputBytes`, to either stream. */
  truncated: boolean;
}

/**
 * Runs `command` without a shell, standard input empty, in a session and process group of its own.
 *
 * At the time limit or on abort, the command and all processes that it has started get SIGKILL (see `killAllOf`). If the
 * command ends by itself, its background processes continue, as after a shell's `&`: a user may start a server this way. Such
 * a process may hold the pipes open. The function therefore returns when the command has ended and its output has arrived,
 * and discards later output of background processes.
 *
 * @throws {SpawnError} if nothing was started
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
