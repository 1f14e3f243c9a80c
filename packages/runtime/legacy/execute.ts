/** `POST /execute`: splits a command line, runs it without a shell and creates the response. @module */
import type { Root } from "../confine.ts";
import type { Command, Finished, RunLimits } from "../processes/run.ts";
import { splitCommand } from "./shlex.ts";

/** Runs a command until its end: `run` of `processes/run.ts`, or a function that extends it. */
export type Runner = (command: Command, limits: RunLimits) => Promise<Finished>;

/** How commands are run. */
export interface ExecuteOptions {
  /** The folder in which they run. */
  root: Root;
  run: Runner;
  /** Time limit in milliseconds if the request has none. */
  execTimeout: number;
  /** Largest number of bytes kept of stdout and of stderr. */
  maxOutput: number;
  /** Kills running commands when it aborts. */
  kill: AbortSignal;
}

/** A parsed request; the time limit is in seconds. */
export interface ExecuteRequest {
  command: string;
  timeout_seconds: number | undefined;
}

/** The response. `timed_out` and `truncated` are present only if they are true. */
export interface ExecuteAnswer {
  stdout: string;
  stderr: string;
  exit_code: number;
  timed_out?: true;
  truncated?: true;
}

/** Beginning of the published runtime's own messages. */
const FAILED = "Failed to execute command: ";

/** Runs the command. As in the published runtime, errors are part of the response: exit code 1 and a message. */
export async function execute(request: ExecuteRequest, options: ExecuteOptions): Promise<ExecuteAnswer> {
  const { root, run, maxOutput, kill } = options;
  const timeoutMs = request.timeout_seconds === undefined ? options.execTimeout : request.timeout_seconds * 1000;
  try {
    const argv = splitCommand(request.command);
    const finished = await run({ argv, cwd: root.path, env: {} }, { timeoutMs, outputBytes: maxOutput, signal: kill });
    return answerOf(finished, timeoutMs);
  } catch (error) {
    return { stdout: "", stderr: FAILED + (error instanceof Error ? error.message : String(error)), exit_code: 1 };
  }
}

function answerOf(finished: Finished, timeoutMs: number): ExecuteAnswer {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const [stdout, stderr] = [decoder.decode(finished.stdout), decoder.decode(finished.stderr)];
  const cut = finished.truncated ? { truncated: true } as const : {};
  if (!finished.timedOut) return { stdout, stderr, exit_code: finished.exitCode, ...cut };
  const message = `${FAILED}timed out after ${timeoutMs / 1000} seconds`;
  return { stdout, stderr: stderr ? `${message}\n${stderr}` : message, exit_code: 1, timed_out: true, ...cut };
}
