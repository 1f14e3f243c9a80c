/** Runs a command until its end or a limit, and returns its output. @module */
import { setMaxListeners } from "node:events";
import type { Readable } from "node:stream";
import { LONGEST_TIMER_MS } from "../../process/clock.ts";
import { type ByteBuffer, createByteBuffer } from "../../process/bytebuffer.ts";
import type { Command } from "./command.ts";
import { drained } from "./output.ts";
import { type Running, start } from "./spawn.ts";

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
export function run(command: Command, limits: RunLimits): Promise<Finished> {
  // Not async: a function that waits keeps its arguments in memory, and a command may have many megabytes.
  return start(command).then((process) => untilEnd(process, limits));
}

async function untilEnd(process: Running, limits: RunLimits): Promise<Finished> {
  limits.onStart?.(process);
  let timedOut = false;
  let truncated = false;
  const onOverflow = () => {
    truncated = true;
    if (limits.overflow === "kill") process.kill();
  };
  const stdout = collect(process.stdout, limits.outputBytes, onOverflow);
  const stderr = collect(process.stderr, limits.outputBytes, onOverflow);
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
function collect(stream: Readable, limit: number, onOverflow: () => void): ByteBuffer {
  const gathered = createByteBuffer();
  stream.on("data", (part: Uint8Array) => {
    const left = limit - gathered.size();
    if (part.length > left) onOverflow();
    if (left > 0) gathered.add(part.subarray(0, left));
  });
  return gathered;
}

/**
 * Calls `onLimit` once, at the time limit or when the signal aborts; immediately if it has aborted already. Call the
 * returned function to cancel both.
 *
 * @param timeoutMs milliseconds; undefined: no time limit
 */
export function watchLimits(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  onLimit: (why: "timeout" | "abort") => void,
): () => void {
  const onAbort = () => fire("abort");
  const timer = timeoutMs === undefined
    ? undefined
    : setTimeout(() => fire("timeout"), Math.min(Math.max(timeoutMs, 0), LONGEST_TIMER_MS));
  const clear = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  };
  const fire = (why: "timeout" | "abort") => {
    clear();
    onLimit(why);
  };
  // Any number of processes can wait for one signal, so Node must not warn about a memory leak.
  if (signal) setMaxListeners(0, signal);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) fire("abort");
  return clear;
}
