/** Builds the request that starts a command, the words of the command, and the error of a failed command. @module */
import { envOf } from "../env.ts";
import { type ErrorCode, InvalidArgumentError, type ObjectRef, SandboxError } from "../errors.ts";
import { limitOf } from "../runtime/deadline.ts";
import { randomId } from "../runtime/randomid.ts";
import type { CommandOptions, CommandResult, RunOptions } from "./types.ts";

/**
 * Builds the request. Because it has an id, it can be sent again.
 *
 * @throws {@link InvalidArgumentError} if the command is empty
 */
export function requestOf(
  command: string | string[],
  options: CommandOptions & Pick<RunOptions, "stdin">,
) {
  const { cwd, timeoutMs, stdin } = options;
  const argv = argvOf(command);
  if (argv.length === 0 || command === "") throw new InvalidArgumentError("Cannot run a command: it is empty");
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new InvalidArgumentError(`Cannot run ${wordsFor(command)}: timeoutMs ${timeoutMs} is not above 0`);
  }
  const limit = limitOf(timeoutMs);
  return {
    config: { command: argv, envVars: envOf(options), ...cwd === undefined ? {} : { cwd } },
    requestId: randomId(),
    stdin: stdin !== undefined,
    ...limit === undefined ? {} : { timeoutMs: BigInt(Math.ceil(limit)) },
  };
}

/** Returns the program and its arguments. A string is run by a shell. */
export function argvOf(command: string | string[]): string[] {
  return typeof command === "string" ? ["/bin/sh", "-c", command] : command;
}

/**
 * Returns the same, but sets working folder and variables within the command: by a shell and by `env`. For protocols
 * that have no fields for them.
 */
export function wrappedArgvOf(
  command: string | string[],
  { cwd, ...options }: Pick<CommandOptions, "cwd" | "env" | "envs">,
): string[] {
  const argv = argvOf(command);
  const variables = Object.entries(envOf(options)).map(([name, value]) => `${name}=${value}`);
  const withEnv = variables.length > 0 ? ["env", ...variables, ...argv] : argv;
  return cwd === undefined ? withEnv : ["/bin/sh", "-c", 'cd "$0" && exec "$@"', cwd, ...withEnv];
}

/** Returns a command for error messages: at most 60 characters, in quotes. */
export function wordsFor(command: string | string[]): string {
  const text = typeof command === "string" ? command : command.join(" ");
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text);
}

/** The command ended with an exit code other than 0, and `check` was set. The error also contains the result. */
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
