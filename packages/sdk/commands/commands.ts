/** `sandbox.commands`: its options, and how a command is run, by hookbox's runtime if the sandbox has it. @module */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { NotFoundError, UnsupportedError } from "../errors.ts";
import type { EnvOptions } from "../options.ts";
import { call, type CallOptions, type UserOptions } from "../runtime/call.ts";
import { inGrace, withRetries } from "../runtime/repeat.ts";
import { lacksRuntime, type RuntimeClient } from "../runtime/runtimeclient.ts";
import { chunksOf } from "../runtime/streams.ts";
import { spanAttributes, traced } from "../tracing.ts";
import { collect } from "./output.ts";
import {
  controlOf,
  eventsInTime,
  handleOf,
  type ProcessControl,
  type ProcessEvent,
  requestOf,
  wordsFor,
  wrappedArgvOf,
} from "./process.ts";
import { eventsOfExec, eventsOfLegacy, startByExec } from "./withoutruntime.ts";

/** Options of every command and terminal. */
export interface CommandOptions extends EnvOptions {
  /** Working folder; paths are those of `files`. @default the working directory of the sandbox */
  cwd?: string;
  /** Environment variables, in addition to those of the sandbox. */
  env?: Record<string, string> | undefined;
  /**
   * User of the sandbox that runs the command, such as `root`. The template must allow it; otherwise the call throws an
   * {@link AuthorizationError}.
   *
   * @default the user that the template chooses
   */
  user?: string | undefined;
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
  /**
   * Id of the request that started it; undefined if an older runtime, or another client than the SDK, gives none. If the
   * sandbox restarts, process ids are used again, but request ids are not.
   */
  requestId: string | undefined;
  command: string[];
  cwd: string;
  startedAt: Date;
  /** Whether it has a terminal. */
  terminal: boolean;
  /** Undefined while it runs; -1 if a signal ended it. */
  exitCode: number | undefined;
}

/** A process that a command, a terminal or code has left behind, such as `nohup ./train.sh &`, and that still runs. */
export interface JobInfo {
  processId: number;
  /** The program and its arguments. */
  command: string[];
  startedAt: Date;
  /** CPU time of the process since its start, in seconds. */
  cpuSeconds: number;
  memoryBytes: number;
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
  /** Lists background jobs. Empty if the sandbox has an older runtime. */
  listJobs(options?: CallOptions): Promise<JobInfo[]>;
  /**
   * Kills a command and all processes that it started. Returns false if no such command is running. With `user`, kills
   * only a command of that user.
   */
  kill(processId: number, options?: UserOptions): Promise<boolean>;
}

/** Creates the commands of one sandbox. */
export function createCommands(runtimeClient: RuntimeClient): Commands {
  async function run(command: string | string[], options: RunOptions & { background: true }): Promise<CommandHandle>;
  async function run(command: string | string[], options?: RunOptions & { background?: false }): Promise<CommandResult>;
  async function run(
    command: string | string[],
    { background, ...options }: RunOptions & { background?: boolean } = {},
  ) {
    const attributes = { ...spanAttributes(runtimeClient.object), "process.executable.name": executableOf(command) };
    const inSpan = <T>(action: () => Promise<T>) => traced("hookbox.commands.run", attributes, action);
    return background
      ? await inSpan(() => runInBackground(runtimeClient.as(options.user), command, options))
      : await inSpan(() => runToEnd(runtimeClient.as(options.user), command, options));
  }
  const ask = (options: CallOptions = {}) => {
    const once = () => call(runtimeClient, "list commands", options, (sent) => clientOf(runtimeClient).list({}, sent));
    return withRetries(once, { repeatable: true, ...options });
  };
  const list: Commands["list"] = async (options) => (await ask(options)).processes.map(infoOf);
  return {
    run,
    list,
    listJobs: async (options) => (await ask(options)).jobs.map(jobOf),
    kill: (processId, options = {}) => controlOf(runtimeClient.as(options.user), processId).kill("SIGKILL", options),
    async connect(processId, options) {
      const found = (await list(options)).find((one) => one.processId === processId);
      if (found) return handleOf(runtimeClient, processId, `run ${wordsFor(found.command)}`);
      throw new NotFoundError(`Cannot connect to process ${processId}: there is none`, {
        object: runtimeClient.object,
      });
    },
  };
}

/** Returns only the program: its arguments may contain secrets. */
function executableOf(command: string | string[]): string {
  return (typeof command === "string" ? command.trim().split(/\s/, 1) : command)[0] ?? "";
}

const clientOf = ({ connectTransport }: RuntimeClient) => createClient(ProcessesService, connectTransport);

async function runToEnd(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandResult> {
  // Nothing else can choose a user.
  if (options.user !== undefined) return await runByRuntime(runtimeClient, command, options);
  if (runtimeClient.known.runtime === false) return await runWithoutRuntime(runtimeClient, command, options);
  try {
    return await runByRuntime(runtimeClient, command, options);
  } catch (error) {
    if (await lacksRuntime(runtimeClient, error)) return await runWithoutRuntime(runtimeClient, command, options);
    throw error;
  }
}

/** Runs the command without hookbox's runtime. If the call is cancelled, the command continues to run. */
async function runWithoutRuntime(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandResult> {
  const { stdin, signal } = options;
  const action = `run ${wordsFor(command)}`;
  if (runtimeClient.transport.exec) {
    const session = await startByExec(runtimeClient.transport, command, { ...options, stdin: stdin !== undefined });
    if (stdin !== undefined && stdin !== true) sendInput(session, stdin).catch(() => {});
    const events = eventsOfExec(session, action, options.timeoutMs);
    return await collect(events, { ...options, action, object: runtimeClient.object }).catch((error) => {
      signal?.throwIfAborted();
      throw error;
    });
  }
  if (stdin !== undefined) {
    throw new UnsupportedError(`Cannot ${action}: the runtime in the sandbox takes no input`, {
      object: runtimeClient.object,
    });
  }
  const events = eventsOfLegacy(runtimeClient, wrappedArgvOf(command, options), action, options);
  return await collect(events, { ...options, action, object: runtimeClient.object });
}

/** Runs the command through the runtime until it ends. If the call is cancelled, the command is killed. */
async function runByRuntime(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandResult> {
  const { stdin, timeoutMs } = options;
  const action = `run ${wordsFor(command)}`;
  const start = { ...requestOf(command, options), lossless: true };
  let process: ProcessControl | undefined;
  async function* events(): AsyncGenerator<ProcessEvent> {
    for await (const event of eventsInTime(runtimeClient, start, action, options)) {
      if (event.type === "started") {
        process = controlOf(runtimeClient, event.processId);
        if (stdin !== undefined && stdin !== true) sendInput(process, stdin).catch(() => {});
      } else yield event;
      if (event.type === "end") process = undefined;
    }
  }
  try {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    return await collect(events(), { ...options, ...limit, action, object: runtimeClient.object });
  } catch (error) {
    // If a callback throws, or the caller cancels the call, the command must not continue to run.
    const { kill } = process ?? {};
    if (kill) await inGrace((signal) => kill("SIGKILL", { signal }));
    throw error;
  }
}

async function runInBackground(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandHandle> {
  const action = `run ${wordsFor(command)}`;
  const processId = await startDetached(runtimeClient, requestOf(command, options), action, options);
  const handle = handleOf(runtimeClient, processId, action);
  const { stdin, onStdout, onStderr } = options;
  if (stdin !== undefined && stdin !== true) sendInput(controlOf(runtimeClient, processId), stdin).catch(() => {});
  if (onStdout || onStderr) passOutput(handle, options).catch(() => {});
  return handle;
}

async function passOutput(handle: CommandHandle, { onStdout, onStderr }: RunOptions): Promise<void> {
  for await (const { stream, text } of handle) await (stream === "stdout" ? onStdout : onStderr)?.(text);
}

/** Starts the command, once, and returns its process id. */
async function startDetached(
  runtimeClient: RuntimeClient,
  request: ReturnType<typeof requestOf>,
  action: string,
  { signal }: CallOptions,
): Promise<number> {
  const start = () =>
    call(runtimeClient, action, { signal }, (sent) => clientOf(runtimeClient).startDetached(request, sent));
  // Safe to repeat: the runtime does not start a second process for the same request id.
  return (await withRetries(start, { repeatable: true, signal })).processId;
}

/** Sends all of the input, then closes it. If the command does not read its input, that is not an error. */
async function sendInput(
  process: { write(data: Uint8Array): Promise<void>; closeStdin(): Promise<void> },
  stdin: string | Uint8Array | ReadableStream<Uint8Array>,
): Promise<void> {
  if (stdin instanceof ReadableStream) { for await (const chunk of chunksOf(stdin)) await process.write(chunk); }
  else await process.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin);
  await process.closeStdin();
}

type Listed = Awaited<ReturnType<ReturnType<typeof clientOf>["list"]>>;

function jobOf({ processId, command, startedAt, cpuSeconds, rssBytes }: Listed["jobs"][number]): JobInfo {
  const at = startedAt ? timestampDate(startedAt) : new Date(0);
  return { processId, command, startedAt: at, cpuSeconds, memoryBytes: Number(rssBytes) };
}

function infoOf(info: Listed["processes"][number]): CommandInfo {
  const { processId, requestId, command, cwd, terminal, startedAt, end } = info;
  return {
    processId,
    requestId: requestId || undefined,
    command,
    cwd,
    terminal,
    startedAt: startedAt ? timestampDate(startedAt) : new Date(0),
    exitCode: end?.exitCode,
  };
}
