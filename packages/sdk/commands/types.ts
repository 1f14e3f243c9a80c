/** Types of `sandbox.commands`. @module */
import type { EnvOptions } from "../env.ts";
import type { CallOptions } from "../runtime/call.ts";

/** Options of every command and terminal. */
export interface CommandOptions extends EnvOptions {
  /** Working folder, inside the sandbox's root. @default the root */
  cwd?: string;
  /** Environment variables, in addition to those of the sandbox. */
  env?: Record<string, string> | undefined;
  /**
   * Kills the command and all processes that it started after this many milliseconds. The call fails a few seconds
   * later at most, even if the sandbox does not kill the command. If the sandbox does not start the command, the call
   * waits up to five minutes more.
   *
   * @default never
   */
  timeoutMs?: number;
  /** Cancels the call. If the call waits for the command, the command is killed. */
  signal?: AbortSignal;
}

/** Options of `commands.run`. */
export interface RunOptions extends CommandOptions {
  /** Standard input: sent completely, then closed. `true` leaves it open for the handle's `write`. @default empty */
  stdin?: string | Uint8Array | ReadableStream<Uint8Array> | true;
  /**
   * Called with each piece of output, in order. If it returns a promise, the command has to wait until the promise
   * resolves.
   */
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  /** Called with the same output as bytes, for output that is not text. Not called for commands in the background. */
  onData?: (bytes: Uint8Array, stream: "stdout" | "stderr") => unknown;
  /** Throws {@link CommandExitError} if the exit code is not 0. @default false */
  check?: boolean;
  /** Largest number of characters of each stream in the result; callbacks get everything. @default 16777216 */
  maxOutputLength?: number;
}

/** The result of a command. */
export interface CommandResult {
  /** Exit code; -1 if a signal ended the command. */
  exitCode: number;
  /** Name of the signal that ended the command, such as `SIGKILL`. */
  signal: string | undefined;
  stdout: string;
  stderr: string;
  /**
   * Whether output is missing: there was more than `maxOutputLength`, or more than the sandbox keeps of a background
   * command.
   */
  truncated: boolean;
}

/** A piece of output. */
export interface CommandOutput {
  stream: "stdout" | "stderr";
  text: string;
}

/** A command in the background. Iterate over it to read its output. */
export interface CommandHandle extends AsyncIterable<CommandOutput> {
  /** Id of the process in the sandbox, for `commands.connect`. */
  processId: number;
  /** Waits until the command ends. Returns its output, as far as the sandbox keeps it (the last 4 MiB). */
  wait(options?: CallOptions & { check?: boolean }): Promise<CommandResult>;
  /** The output as streams of text, from the beginning. */
  readonly stdout: ReadableStream<string>;
  readonly stderr: ReadableStream<string>;
  /** Writes to standard input; requires `stdin: true`. The data is sent once, even if the connection breaks. */
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** Closes standard input. */
  closeStdin(options?: CallOptions): Promise<void>;
  /**
   * Sends a signal to the command and all processes that it started. Returns false if the command has ended.
   *
   * @param signal @default "SIGKILL"
   */
  kill(signal?: "SIGINT" | "SIGTERM" | "SIGKILL", options?: CallOptions): Promise<boolean>;
}

/** A command that is running, or that ran in the background recently. */
export interface CommandInfo {
  processId: number;
  command: string[];
  cwd: string;
  startedAt: Date;
  /** Whether it has a terminal. */
  terminal: boolean;
  /** Undefined while it runs; -1 if a signal ended it. */
  exitCode: number | undefined;
}

/**
 * Commands of one sandbox.
 *
 * A sandbox without hookbox's runtime can also run commands, but not in the background. They run in the first
 * container, as with `kubectl exec`. Through a router, the SDK uses `POST /execute` of the API specification's example
 * runtime instead. If a call is cancelled there, the command continues to run.
 */
export interface Commands {
  /** Runs a command in the background; resolves when it has started. */
  run(command: string | string[], options: RunOptions & { background: true }): Promise<CommandHandle>;
  /**
   * Runs a command and waits until it ends. A string is run by a shell (`sh -c`). A list is a program and its
   * arguments, without a shell. The command runs once, even if connections break: the SDK reconnects and continues to
   * read.
   *
   * @throws {@link TimeoutError} after `timeoutMs`; the command is killed
   * @throws {@link CommandExitError} if `check` is set and the exit code is not 0
   * @throws {@link NotFoundError} if the program or the folder does not exist
   */
  run(command: string | string[], options?: RunOptions & { background?: false }): Promise<CommandResult>;
  /**
   * Returns the handle of a command that runs, or that ran in the background recently.
   *
   * @throws {@link NotFoundError} if there is no such command
   */
  connect(processId: number, options?: CallOptions): Promise<CommandHandle>;
  /** Lists running commands, and those that ran in the background recently; the oldest first. */
  list(options?: CallOptions): Promise<CommandInfo[]>;
  /** Kills a command and all processes that it started. Returns false if no such command is running. */
  kill(processId: number, options?: CallOptions): Promise<boolean>;
}
