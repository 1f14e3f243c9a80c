/** The error of a command that ended with another code than 0. @module */
import { type ErrorCode, type ObjectRef, SandboxError } from "../errors.ts";
import type { CommandResult } from "./types.ts";

/** A command ended with another code than 0, and `check` was asked for. It is the result, too. */
export class CommandExitError extends SandboxError implements CommandResult {
  override readonly name: string = "CommandExitError";
  override readonly code: ErrorCode = "COMMAND_FAILED";
  readonly exitCode: number;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;

  constructor(action: string, result: CommandResult, object: ObjectRef) {
    const { exitCode, signal, stdout, stderr, truncated } = result;
    const how = signal === undefined ? `exit code ${exitCode}` : signal;
    const lastLine = stderr.trimEnd().split("\n").at(-1) ?? "";
    super(`Cannot ${action}: ${how}${lastLine && `: ${lastLine.slice(0, 500)}`}`, {
      object,
      reason: how,
    });
    this.exitCode = exitCode;
    this.signal = signal;
    this.stdout = stdout;
    this.stderr = stderr;
    this.truncated = truncated;
  }
}
