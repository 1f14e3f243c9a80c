/** Follows one process until it ends, reconnects if a connection breaks, and controls it. @module */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions as ConnectCallOptions, createClient } from "@connectrpc/connect";
import { RESPONSE_HEADER_TIMEOUT_MS, WAKE_TIMEOUT_MS } from "../../api/router/protocol.ts";
import {
  type AttachResponse,
  type ProcessEnd,
  ProcessesService,
  type StartDetachedRequestSchema,
} from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService, Signal } from "../../runtime-api/gen/process/v1/process_pb.ts";
import { ConnectionError, InvalidArgumentError, NotFoundError, SandboxNotFoundError, TimeoutError } from "../errors.ts";
import { envOf } from "../options.ts";
import { errorOfConnect } from "../runtime/answers.ts";
import { call, type CallOptions } from "../runtime/call.ts";
import { inTime, limitOf, pause, randomId, withRetries } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { streamOf } from "../runtime/streams.ts";
import { NO_WAKE } from "../transport/transport.ts";
import type { CommandHandle, CommandOptions, CommandOutput, RunOptions } from "./commands.ts";
import { collect, type CollectOptions, textOf } from "./output.ts";

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
function argvOf(command: string | string[]): string[] {
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

/** What happens to a process. */
export type ProcessEvent =
  | { type: "started"; processId: number }
  /** `offset`: bytes of output before these; absent if the sandbox does not count them. */
  | { type: "output"; stream: "stdout" | "stderr"; bytes: Uint8Array; offset?: number }
  /** Output that the sandbox did not keep. */
  | { type: "lost" }
  | { type: "end"; exitCode: number; signal: string; timedOut: boolean };

/** The process: to be started, or running already. */
type ProcessSource =
  | { start: MessageInitShape<typeof StartDetachedRequestSchema> & { requestId: string } }
  /**
   * `isTerminal`: it waits for its readers, and it was seen to run, so that no request has to resume the sandbox.
   * `requestId`: of the request that started it.
   */
  | { processId: number; isTerminal?: boolean; requestId?: string };

/**
 * Waits before each new connection, in milliseconds. After output, or a connection of more than {@link STABLE_MS}, they
 * start from the beginning.
 */
const WAITS_MS = [50, 100, 400, 1600, 3000, 5000];
/** The waits while the runtime in the sandbox has never answered. */
const FIRST_WAITS_MS = WAITS_MS.slice(0, 3);
const STABLE_MS = 10_000;
/** How long a command may take to start: a router waits for a suspended sandbox to resume, then for the response. */
const START_MS = WAKE_TIMEOUT_MS + RESPONSE_HEADER_TIMEOUT_MS;
/**
 * Received bytes after which the SDK acknowledges them. Much less than the runtime sends without an acknowledgement.
 */
const ACKNOWLEDGE_BYTES = 256 * 1024;

/**
 * Starts or follows the process, and returns after its end. The process is started only once: if a request may have
 * arrived, it is sent again with the same id, and the runtime does not start a second process.
 *
 * @param isGivenUp returns whether the caller cancelled the call; a failed request is then not repeated
 * @throws {@link ConnectionError} if the sandbox cannot be reached for about ten seconds, or was restarted
 */
export async function* eventsOf(
  runtimeClient: RuntimeClient,
  source: ProcessSource,
  action: string,
  signal?: AbortSignal,
  isGivenUp: () => boolean = () => false,
): AsyncGenerator<ProcessEvent> {
  const follower = createFollower(runtimeClient, source, signal);
  for (let failures = 0;;) {
    const opened = performance.now();
    try {
      for await (const { event } of follower.open()) {
        const read = follower.take(event);
        if (read?.type === "output" || read?.type === "end" || performance.now() - opened > STABLE_MS) failures = 0;
        if (read) yield read;
        if (read?.type === "end") return;
      }
      throw new ConnectionError(`Cannot ${action}: the stream ended early`, { object: runtimeClient.object });
    } catch (thrown) {
      signal?.throwIfAborted();
      const error = errorOfConnect(thrown, action, runtimeClient.object);
      if (error instanceof SandboxNotFoundError) throw error;
      if (error instanceof NotFoundError && follower.hasStarted()) throw restartedError(runtimeClient, action, error);
      const wait = (runtimeClient.known.runtime ? WAITS_MS : FIRST_WAITS_MS)[failures++];
      if (!(error instanceof ConnectionError) || wait === undefined || isGivenUp()) throw error;
      await pause(wait, signal);
    }
  }
}

/**
 * Starts and follows a process, at most for its time limit plus a few seconds.
 *
 * @throws {@link TimeoutError} if the sandbox has not ended the process by then; otherwise as {@link eventsOf}
 */
export function eventsInTime(
  runtimeClient: RuntimeClient,
  start: Extract<ProcessSource, { start: unknown }>["start"],
  action: string,
  { signal, timeoutMs }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
): AsyncGenerator<ProcessEvent> {
  const isGivenUp = () => signal?.aborted === true;
  return inTime((signals) => eventsOf(runtimeClient, { start }, action, signals, isGivenUp), {
    signal,
    timeoutMs,
    beginMs: START_MS,
    isBeginning: ({ type }) => type === "started",
    runsOn: true,
    late: () =>
      new TimeoutError(`Cannot ${action}: the sandbox has not ended it after ${timeoutMs} ms`, {
        object: runtimeClient.object,
        remedy: "It may still run.",
      }),
  });
}

function restartedError({ object }: RuntimeClient, action: string, cause: unknown): ConnectionError {
  const remedy = "Run it again if that does no harm.";
  return new ConnectionError(`Cannot ${action}: the sandbox was restarted, and the command is gone`, {
    object,
    remedy,
    cause,
  });
}

function createFollower(runtimeClient: RuntimeClient, source: ProcessSource, signal: AbortSignal | undefined) {
  const client = createClient(ProcessesService, runtimeClient.connectTransport);
  const options: ConnectCallOptions = signal ? { signal } : {};
  const { requestId = "" } = "start" in source ? source.start : source;
  const isTerminal = "processId" in source && source.isTerminal === true;
  const isLossless = "start" in source ? source.start.lossless === true : isTerminal;
  let processId = "start" in source ? undefined : source.processId;
  let offset = 0;
  let acknowledged = 0;
  const acknowledge = () => {
    if (!isLossless || processId === undefined || offset - acknowledged < ACKNOWLEDGE_BYTES) return;
    acknowledged = offset;
    // If an acknowledgement is lost, the next one includes it.
    client.acknowledge({ processId, offset: BigInt(offset) }).catch(() => {});
  };
  return {
    hasStarted: () => processId !== undefined && "start" in source,
    open(): AsyncIterable<AttachResponse> {
      if (processId === undefined && "start" in source) return client.run(source.start, options);
      const from = { processId: processId ?? 0, offset: BigInt(offset), requestId };
      // A process that this call started ended when its sandbox was suspended, so the request must not resume the
      // sandbox.
      return client.attach(from, { ...options, headers: "start" in source || isTerminal ? NO_WAKE : {} });
    },
    take(event: AttachResponse["event"]): ProcessEvent | undefined {
      if (event.case === "started") return { type: "started", processId: processId = event.value.processId };
      if (event.case === "end") return endOf(event.value);
      if (event.case === "truncated") {
        offset = Number(event.value.beforeOffset);
        return { type: "lost" };
      }
      const { data, offset: at = 0n } = event.value ?? {};
      if (data?.case === undefined) return undefined;
      offset = Number(at) + data.value.length;
      acknowledge();
      return { type: "output", stream: data.case, bytes: data.value, offset: Number(at) };
    },
  };
}

function endOf({ exitCode, signal, timedOut }: ProcessEnd): ProcessEvent {
  return { type: "end", exitCode, signal, timedOut };
}

/** Creates the handle. Each reader of the output starts at the beginning and is independent of the others. */
export function handleOf(runtimeClient: RuntimeClient, processId: number, action: string): CommandHandle {
  const { write, closeStdin, kill } = controlOf(runtimeClient, processId);
  const events = (signal?: AbortSignal) => eventsOf(runtimeClient, { processId }, action, signal);
  const read = (stream: CommandOutput["stream"]): ReadableStream<string> => {
    const unwanted = new AbortController();
    const texts = textsOf(outputOf(events(unwanted.signal)), stream);
    return streamOf(texts, { onCancel: () => unwanted.abort() });
  };
  return {
    processId,
    write,
    closeStdin,
    kill,
    wait: async ({ check = false, signal } = {}) => {
      const collecting: CollectOptions = { action, object: runtimeClient.object, check };
      return await collect(events(signal), collecting);
    },
    get stdout() {
      return read("stdout");
    },
    get stderr() {
      return read("stderr");
    },
    [Symbol.asyncIterator]: () => outputOf(events())[Symbol.asyncIterator](),
  };
}

async function* outputOf(events: ReturnType<typeof eventsOf>): AsyncGenerator<CommandOutput> {
  for await (const piece of textOf(events)) if (piece.stream !== "lost") yield piece as CommandOutput;
}

async function* textsOf(
  output: AsyncIterable<CommandOutput>,
  wanted: CommandOutput["stream"],
): AsyncGenerator<string> {
  for await (const { stream, text } of output) if (stream === wanted) yield text;
}

/** Functions that control one process. */
export interface ProcessControl {
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>;
  closeStdin(options?: CallOptions): Promise<void>;
  resize(size: { cols: number; rows: number }, options?: CallOptions): Promise<void>;
  /** Sends a signal. Returns false if the process has ended. */
  kill(signal?: "SIGINT" | "SIGTERM" | "SIGKILL", options?: CallOptions): Promise<boolean>;
}

/** Largest message of input, in bytes; longer input is split. */
const INPUT_BYTES = 256 * 1024;

/** Creates the control functions of a process. */
export function controlOf(runtimeClient: RuntimeClient, processId: number): ProcessControl {
  const processes = createClient(ProcessesService, runtimeClient.connectTransport);
  const process = createClient(ProcessService, runtimeClient.connectTransport);
  const doing = (action: string, options: CallOptions, send: (options: { signal?: AbortSignal }) => Promise<unknown>) =>
    call(runtimeClient, `${action} process ${processId}`, options, send);
  return {
    async write(data, options = {}) {
      const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
      for (let at = 0; at < bytes.length; at += INPUT_BYTES) {
        const value = bytes.subarray(at, at + INPUT_BYTES);
        const request = { processId, payload: { case: "input", value } } as const;
        await doing("write to", options, (sent) => process.writeStdin(request, sent));
      }
    },
    async closeStdin(options = {}) {
      const request = { processId, payload: { case: "eof", value: {} } } as const;
      await doing("end the input of", options, (sent) => process.writeStdin(request, sent));
    },
    async resize(size, options = {}) {
      await doing("resize", options, (sent) => process.resizeTTY({ processId, ...size }, sent));
    },
    async kill(name = "SIGKILL", options = {}) {
      const isFinal = name === "SIGKILL";
      const request = { processId, signal: Signal[name] };
      const send = () =>
        doing(
          "kill",
          options,
          (sent) => isFinal ? processes.kill({ processId }, sent) : process.sendSignal(request, sent),
        );
      try {
        await (isFinal ? withRetries(send, { repeatable: true, ...options }) : send());
        return true;
      } catch (error) {
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    },
  };
}
