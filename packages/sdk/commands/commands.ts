/** Implements `sandbox.commands`: runs commands, by hookbox's runtime if the sandbox has it. @module */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { NotFoundError, UnsupportedError } from "../errors.ts";
import { call, type CallOptions } from "../runtime/call.ts";
import { inGrace } from "../runtime/deadline.ts";
import { lacksRuntime, type RuntimeClient } from "../runtime/runtimeclient.ts";
import { repeating } from "../runtime/repeat.ts";
import { chunksOf } from "../runtime/streams.ts";
import { requestOf, wordsFor, wrappedArgvOf } from "./request.ts";
import { collect } from "./collect.ts";
import { type Control, controlOf, handleOf } from "./handle.ts";
import { eventsInTime, type ProcessEvent } from "./events.ts";
import { eventsOfExec, eventsOfLegacy, startByExec } from "./withoutruntime.ts";
import { spanAttributes, traced } from "../tracing.ts";
import type { CommandHandle, CommandInfo, CommandResult, Commands, RunOptions } from "./types.ts";

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
      ? await inSpan(() => runBehind(runtimeClient, command, options))
      : await inSpan(() => runThrough(runtimeClient, command, options));
  }
  const list: Commands["list"] = async (options = {}) => {
    const ask = () => call(runtimeClient, "list commands", options, (sent) => clientOf(runtimeClient).list({}, sent));
    return (await repeating(ask, { repeatable: true, ...options })).processes.map(infoOf);
  };
  return {
    run,
    list,
    kill: (processId, options) => controlOf(runtimeClient, processId).kill("SIGKILL", options),
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

async function runThrough(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandResult> {
  if (runtimeClient.known.runtime === false) return await runWithout(runtimeClient, command, options);
  try {
    return await runByRuntime(runtimeClient, command, options);
  } catch (error) {
    if (await lacksRuntime(runtimeClient, error)) return await runWithout(runtimeClient, command, options);
    throw error;
  }
}

/** Runs the command without hookbox's runtime. If the call is cancelled, the command continues to run. */
async function runWithout(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandResult> {
  const { stdin, signal } = options;
  const action = `run ${wordsFor(command)}`;
  if (runtimeClient.transport.exec) {
    const session = await startByExec(runtimeClient.transport, command, { ...options, stdin: stdin !== undefined });
    if (stdin !== undefined && stdin !== true) feed(session, stdin).catch(() => {});
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
  let process: Control | undefined;
  async function* events(): AsyncGenerator<ProcessEvent> {
    for await (const event of eventsInTime(runtimeClient, start, action, options)) {
      if (event.type === "started") {
        process = controlOf(runtimeClient, event.processId);
        if (stdin !== undefined && stdin !== true) feed(process, stdin).catch(() => {});
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

async function runBehind(
  runtimeClient: RuntimeClient,
  command: string | string[],
  options: RunOptions,
): Promise<CommandHandle> {
  const action = `run ${wordsFor(command)}`;
  const processId = await started(runtimeClient, requestOf(command, options), action, options);
  const handle = handleOf(runtimeClient, processId, action);
  const { stdin, onStdout, onStderr } = options;
  if (stdin !== undefined && stdin !== true) feed(controlOf(runtimeClient, processId), stdin).catch(() => {});
  if (onStdout || onStderr) tell(handle, options).catch(() => {});
  return handle;
}

async function tell(handle: CommandHandle, { onStdout, onStderr }: RunOptions): Promise<void> {
  for await (const { stream, text } of handle) await (stream === "stdout" ? onStdout : onStderr)?.(text);
}

/** Starts the command, once, and returns its process id. */
async function started(
  runtimeClient: RuntimeClient,
  request: ReturnType<typeof requestOf>,
  action: string,
  { signal }: CallOptions,
): Promise<number> {
  const start = () =>
    call(runtimeClient, action, { signal }, (sent) => clientOf(runtimeClient).startDetached(request, sent));
  // Safe to repeat: the runtime does not start a second process for the same request id.
  return (await repeating(start, { repeatable: true, signal })).processId;
}

/** Sends all of the input, then closes it. If the command does not read its input, that is not an error. */
async function feed(
  process: { write(data: Uint8Array): Promise<void>; closeStdin(): Promise<void> },
  stdin: string | Uint8Array | ReadableStream<Uint8Array>,
): Promise<void> {
  if (stdin instanceof ReadableStream) { for await (const chunk of chunksOf(stdin)) await process.write(chunk); }
  else await process.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin);
  await process.closeStdin();
}

function infoOf(info: Awaited<ReturnType<ReturnType<typeof clientOf>["list"]>>["processes"][number]): CommandInfo {
  const { processId, command, cwd, terminal, startedAt, end } = info;
  return {
    processId,
    command,
    cwd,
    terminal,
    startedAt: startedAt ? timestampDate(startedAt) : new Date(0),
    exitCode: end?.exitCode,
  };
}
