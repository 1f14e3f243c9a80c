/** Commands as callers of the SDK see them. No behaviour. @module */
import type { EnvOptions } from "../env.ts";
import type { CallOptions } from "../runtime/call.ts";

/** What every command may be given. */
export interface CommandOptions extends EnvOptions {
  /** A folder inside the sandbox's root. @default the root */
  cwd?: string;
  /** Laid over the environment of the sandbox. */
  env?: Record<string, string> | undefined;
  /**
   * Kills the command and all it has started after so many milliseconds. Who waits for it is told seconds later at the
   * latest, even by a sandbox that does not kill it; one that does not even start it has five minutes more.
   *
   * @default never
   */
  timeoutMs?: number;
  /** Gives up: kills the command where it was waited for. */
  signal?: AbortSignal;
}

/** How to run a command. */
export interface RunOptions extends CommandOptions {
  /** Standard input, sent whole and then closed; `true` leaves it open for a handle's `write`. @default empty */
  stdin?: string | Uint8Array | ReadableStream<Uint8Array> | true;
  /** Told of each piece of output, in order; while a promise of it is pending the command is held up. */
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  /** Told the same as bytes, before they are text: for output that is none. Not of commands in the background. */
  onData?: (bytes: Uint8Array, stream: "stdout" | "stderr") => unknown;
  /** Throws {@link CommandExitError} when it ends with another code than 0. @default false */
  check?: boolean;
  /** Characters of each stream that the result holds; callbacks get all. @default 16777216 */
  maxOutputLength?: number;
}

/** What a command came to. */
export interface CommandResult {
  /** -1 where a signal ended it. */
  exitCode: number;
  /** Name of that signal, such as `SIGKILL`. */
  signal: string | undefined;
  stdout: string;
  stderr: string;
  /** Output is missing: it was more than `maxOutputLength`, or more than the sandbox keeps of a background command. */
  truncated: boolean;
}

/** A piece of output. */
export interface CommandOutput {
  stream: "stdout" | "stderr";
  text: string;
}

/** A command that runs on by itself. Iterate over it for its output. */
export interface CommandHandle extends AsyncIterable<CommandOutput> {
  /** Id of the process in the sandbox, for `commands.connect`. */
  processId: number;
  /** Waits for its end, and returns all output that is kept (4 MiB). */
  wait(options?: CallOptions & { check?: boolean }): Promise<CommandResult>;
  /** Its output as streams of text, from the beginning. */
  readonly stdout: ReadableStream<string>;
  readonly stderr: ReadableStream<string>;
  /** Writes to its standard input, which must have been left open by `stdin: true`. Sent once, whatever happens. */
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** Ends its standard input. */
  closeStdin(options?: CallOptions): Promise<void>;
  /** Ends it with all it has started; false if it has ended. @param signal @default "SIGKILL" */
  kill(signal?: "SIGINT" | "SIGTERM" | "SIGKILL", options?: CallOptions): Promise<boolean>;
}

/** A command that runs, or that ran in the background lately. */
export interface CommandInfo {
  processId: number;
  command: string[];
  cwd: string;
  startedAt: Date;
  /** It has a terminal. */
  terminal: boolean;
  /** Undefined while it runs; -1 where a signal ended it. */
  exitCode: number | undefined;
}

/**
 * Commands of one sandbox.
 *
 * In a sandbox without hookbox's runtime, commands that are waited for run as those of `kubectl exec` do, in the first
 * container, or through a router by `POST /execute` of the contract's example runtime. Who gives up leaves them running,
 * and nothing runs in the background.
 */
export interface Commands {
  /** Runs a command in the background: returns once it has started. */
  run(command: string | string[], options: RunOptions & { background: true }): Promise<CommandHandle>;
  /**
   * Runs a command and waits for its end. A string is a shell's (`sh -c`); a list is a program and its arguments, and no
   * shell reads it. The command runs once, also when connections break: the SDK goes on reading where it was.
   *
   * @throws {@link TimeoutError} after `timeoutMs`; the command is killed
   * @throws {@link CommandExitError} with `check`, if it ends with another code than 0
   * @throws {@link NotFoundError} if there is no such program or folder
   */
  run(command: string | string[], options?: RunOptions & { background?: false }): Promise<CommandResult>;
  /** Returns the handle of one that runs in the background, or did lately. @throws {@link NotFoundError} if there is none */
  connect(processId: number, options?: CallOptions): Promise<CommandHandle>;
  /** Lists what runs, and what ran in the background lately; oldest first. */
  list(options?: CallOptions): Promise<CommandInfo[]>;
  /** Kills a command with all it has started; false if there is none that runs. */
  kill(processId: number, options?: CallOptions): Promise<boolean>;
}
