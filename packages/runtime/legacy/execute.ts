/** `POST /execute`: splits a command line, runs it without a shell and words what came of it. @module */
import type { Root } from "../confine.ts";
import type { Command, Finished, RunLimits } from "../processes/run.ts";
import { splitCommand } from "./shlex.ts";

/** Runs a command to its end: `run` of `processes/run.ts`, or one that adds to it. */
export type Runner = (command: Command, limits: RunLimits) => Promise<Finished>;

/** How commands are run. */
export interface ExecuteOptions {
  /** Where they run. */
  root: Root;
  run: Runner;
  /** Time limit where the request names none. */
  execTimeout: number;
  /** Most bytes kept of each of stdout and stderr. */
  maxOutput: number;
  /** Ends what runs. */
  kill: AbortSignal;
}

/** A request as it was parsed; the limit is in seconds. */
export interface ExecuteRequest {
  command: string;
  timeout_seconds: number | undefined;
}

/** The answer; the last two are there only where they are true. */
export interface ExecuteAnswer {
  stdout: string;
  stderr: string;
  exit_code: number;
  timed_out?: true;
  truncated?: true;
}

/** What the published runtime begins its own messages with. */
const FAILED = "Failed to execute command: ";

/** Runs the command; whatever goes wrong is in the answer, as with the published runtime: exit code 1 and a message. */
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
