/** process.v1.ProcessService, as published clients use it. @module */
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { Writable } from "node:stream";
import type { Root } from "../confine.ts";
import {
  type ExecuteRequest,
  type ProcessService,
  type ResizeTTYRequest,
  type SendSignalRequest,
  Signal,
  type StartRequest,
  type WriteStdinRequest,
} from "../../runtime-api/gen/process/v1/process_pb.ts";
import { readOutput } from "../processes/output.ts";
import type { Process, Processes } from "../processes/processes.ts";
import { signalGroup } from "../processes/killall.ts";
import { coded, commandOf, findRunning, sizeOf, throwIfBrokenOff } from "./lookup.ts";

/** What the service needs. */
export interface ProcessServiceOptions {
  root: Root;
  processes: Processes;
  /** Largest number of bytes of stdout and of stderr in a response of Execute. */
  maxOutput: number;
}

const SIGNALS: Partial<Record<number, NodeJS.Signals>> = {
  [Signal.SIGINT]: "SIGINT",
  [Signal.SIGKILL]: "SIGKILL",
  [Signal.SIGTERM]: "SIGTERM",
};

/** Creates the service. */
export function createProcessService(options: ProcessServiceOptions): ServiceImpl<typeof ProcessService> {
  const { processes } = options;
  return {
    start: (request, context) => start(options, request, context),
    execute: (request, context) => execute(options, request, context),
    writeStdin: (request, context) => writeStdin(findRunning(processes, request.processId), request, context),
    sendSignal: (request) => sendSignal(findRunning(processes, request.processId), request),
    resizeTTY: (request) => resizeTTY(findRunning(processes, request.processId), request),
  };
}

/** Starts a process that belongs to the call: it is killed when the caller disconnects or the deadline is over. */
async function* start({ root, processes }: ProcessServiceOptions, request: StartRequest, context: HandlerContext) {
  const { signal, requestHeader } = context;
  const command = await commandOf(root, request.config, requestHeader);
  const size = sizeOf(request.pty);
  const entry = await coded(processes.start(command, { size, stdin: true, signal }));
  const detach = processes.attach(entry);
  try {
    yield { event: { case: "init" as const, value: { processId: entry.running.pid } } };
    for await (const { stream, bytes } of readOutput(entry.running)) yield { event: { case: stream, value: bytes } };
    throwIfBrokenOff(signal);
    const { exitCode } = await entry.ended;
    yield { event: { case: "exit" as const, value: { exitCode } } };
  } finally {
    detach();
    entry.kill();
  }
}

/**
 * Runs a command until its end or the caller's deadline. With too much output it is killed, because a response is
 * limited.
 */
async function execute(options: ProcessServiceOptions, request: ExecuteRequest, context: HandlerContext) {
  const { signal, requestHeader } = context;
  const command = await commandOf(options.root, request.config, requestHeader);
  const limits = { timeoutMs: undefined, outputBytes: options.maxOutput, overflow: "kill" as const, signal };
  const { stdout, stderr, exitCode, truncated } = await coded(options.processes.run(command, limits));
  throwIfBrokenOff(signal);
  if (!truncated) return { exitCode, stdout, stderr };
  const limit = `${options.maxOutput} bytes on a stream, which is the limit of Execute; Start has none`;
  throw new ConnectError(`Cannot answer with all output: it is over ${limit}`, Code.ResourceExhausted);
}

async function writeStdin(entry: Process, { payload }: WriteStdinRequest, { signal }: HandlerContext) {
  const { pid } = entry.running;
  if (payload.case === undefined) {
    throw new ConnectError(`Cannot write to process ${pid}: neither input nor eof is given`, Code.InvalidArgument);
  }
  if (!await writeInput(entry, payload.case === "eof" ? "eof" : payload.value, signal)) {
    throw new ConnectError(`Cannot write to process ${pid}: its input is closed`, Code.FailedPrecondition);
  }
  throwIfBrokenOff(signal);
  return {};
}

/**
 * Writes to a process, or ends its input. Resolves when the process has received it, the pipe has room for it, or `signal`
 * aborts, as it also does when the call has ended.
 *
 * @returns false if the input is closed
 */
export async function writeInput(entry: Process, input: Uint8Array | "eof", signal: AbortSignal): Promise<boolean> {
  const { stdin } = entry.running;
  if (!stdin?.writable) return false;
  const written = input === "eof" ? end(stdin) : write(stdin, input);
  return await Promise.race([written, entry.endedUnless(signal)]).then(() => true, () => false);
}

function write(stdin: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => stdin.write(bytes, (error) => error ? reject(error) : resolve()));
}

function end(stdin: Writable): Promise<void> {
  return new Promise((resolve) => stdin.end(resolve));
}

function sendSignal(entry: Process, request: SendSignalRequest) {
  const signal = SIGNALS[request.signal];
  if (!signal) {
    const { pid } = entry.running;
    const why = `${request.signal} is not one of 2 (SIGINT), 9 (SIGKILL) and 15 (SIGTERM)`;
    throw new ConnectError(`Cannot signal process ${pid}: ${why}`, Code.InvalidArgument);
  }
  if (signal === "SIGKILL") entry.kill();
  else signalGroup(entry.running.pid, signal);
  return {};
}

async function resizeTTY(entry: Process, { cols, rows }: ResizeTTYRequest) {
  const { running } = entry;
  if (!("resize" in running)) {
    throw new ConnectError(`Cannot resize process ${running.pid}: it has no terminal`, Code.FailedPrecondition);
  }
  await coded(Promise.resolve().then(() => running.resize({ cols, rows })));
  return {};
}
