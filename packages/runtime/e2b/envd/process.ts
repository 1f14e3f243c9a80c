/** process.Process, as E2B's clients call it: commands and terminals that go on when a client leaves. @module */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import process from "node:process";
import { userInfo } from "node:os";
import type {
  Process,
  ProcessEventSchema,
  ProcessInput,
  ProcessSelector,
  PTY,
  StartRequest,
} from "../../../runtime-api/gen/e2b/process_pb.ts";
import { Signal } from "../../../runtime-api/gen/e2b/process_pb.ts";
import type { Root } from "../../confine.ts";
import { refusedFor } from "../../files/refused.ts";
import { type Command, SpawnError } from "../../processes/command.ts";
import type { Processes } from "../../processes/processes.ts";
import { watchLimits } from "../../processes/run.ts";
import { codedError, throwIfBrokenOff, traceEnvironment } from "../../rpc/lookup.ts";
import { writeInput } from "../../rpc/process.ts";
import type { Listener } from "./broadcast.ts";
import { absolutePath, homeOf } from "./paths.ts";
import type { E2BProcess, E2BProcesses, EndedProcess } from "./running.ts";

/** What the service needs. */
export interface ProcessOptions {
  root: Root;
  processes: Processes;
  known: E2BProcesses;
}

type Event = { event: MessageInitShape<typeof ProcessEventSchema> };

/** Creates the service. */
export function createProcess(options: ProcessOptions): ServiceImpl<typeof Process> {
  const { known, processes } = options;
  const running = (selector: ProcessSelector | undefined): E2BProcess => {
    const found = find(known, selector);
    if (!isRunning(found)) throw hasEnded(found);
    return found;
  };
  return {
    list: () => ({ processes: known.running().map(({ config, pid, tag }) => ({ config, pid, ...tagged(tag) })) }),
    start: (request, context) => start(options, request, context),
    connect: async function* (request, context) {
      const one = find(known, request.process);
      if (isRunning(one)) return yield* follow(processes, one, context);
      yield { event: { event: { case: "start", value: { pid: one.pid } } } };
      yield { event: { event: { case: "end", value: one.end } } };
    },
    update: async ({ process, pty }) => {
      const one = running(process);
      const { running: started } = one.entry;
      if (pty && !("resize" in started)) throw noTerminal(one);
      if (pty?.size && "resize" in started) {
        const { size } = pty;
        await Promise.resolve().then(() => started.resize({ cols: size.cols, rows: size.rows })).catch((error) => {
          throw startError(error);
        });
      }
      return {};
    },
    sendInput: async ({ process, input }, { signal }) => {
      await send(running(process), input, signal);
      return {};
    },
    streamInput: async (requests, { signal }) => {
      let one: E2BProcess | undefined;
      for await (const { event } of requests) {
        if (event.case === "start") one = running(event.value.process);
        else if (event.case === "data") {
          if (!one) throw new ConnectError("the first message must name the process", Code.InvalidArgument);
          await send(one, event.value.input, signal);
        }
      }
      return {};
    },
    sendSignal: async ({ process, signal }) => {
      const one = running(process);
      const name = SIGNALS[signal];
      if (!name) throw new ConnectError(`signal ${signal} is not supported: only 9 and 15 are`, Code.Unimplemented);
      if (!one.kill(name)) throw hasEnded(one);
      // A client that kills it again learns that it is dead.
      if (name === "SIGKILL") await one.entry.endedUnless(AbortSignal.timeout(DEATH_MS));
      return {};
    },
    closeStdin: async ({ process }, { signal }) => {
      const one = running(process);
      if (one.isTerminal) throw new ConnectError(`cannot close the input of a terminal: send ^D`, Code.Unknown);
      await writeInput(one.entry, "eof", signal);
      return {};
    },
  };
}

/** How long a process that was killed may take to die, in milliseconds: the system may be busy with it. */
const DEATH_MS = 1000;

function isRunning(one: E2BProcess | EndedProcess): one is E2BProcess {
  return one.end === undefined;
}

function hasEnded({ pid }: Pick<E2BProcess, "pid">): ConnectError {
  return new ConnectError(`process ${pid} has ended`, Code.NotFound);
}

const SIGNALS: Partial<Record<Signal, "SIGKILL" | "SIGTERM">> = {
  [Signal.SIGKILL]: "SIGKILL",
  [Signal.SIGTERM]: "SIGTERM",
};

function tagged(tag: string | undefined): { tag?: string } {
  return tag === undefined ? {} : { tag };
}

function find(known: E2BProcesses, selector: ProcessSelector | undefined): E2BProcess | EndedProcess {
  const by = selector?.selector ?? { case: undefined };
  const found = known.find(by);
  if (found) return found;
  const why = by.case === undefined ? "no process is named" : `there is no process with ${by.case} ${by.value}`;
  throw new ConnectError(why, by.case === undefined ? Code.InvalidArgument : Code.NotFound);
}

/** Starts a process. The deadline of the call is that of the process. The end of the stream does not end the process. */
async function* start(options: ProcessOptions, request: StartRequest, context: HandlerContext): AsyncGenerator<Event> {
  const { processes, known, root } = options;
  const { process: config } = request;
  if (!config?.cmd) throw new ConnectError("the command is empty", Code.InvalidArgument);
  const command = await commandOf(root, config, context.requestHeader);
  const more = { size: sizeOf(request.pty), stdin: request.stdin ?? true };
  const entry = await processes.start(command, more).catch((error) => {
    throw startError(error, config.cwd);
  });
  const one = known.add(entry, config, request.tag);
  const timeoutMs = context.timeoutMs();
  if (timeoutMs !== undefined) {
    const unwatch = watchLimits(timeoutMs, undefined, () => one.kill("SIGKILL"));
    void entry.ended.then(unwatch);
  }
  yield* follow(processes, one, context);
}

/** Yields what a process writes from now on, and how it ends. */
async function* follow(processes: Processes, one: E2BProcess, context: HandlerContext): AsyncGenerator<Event> {
  const { signal, requestHeader } = context;
  const listener = one.output.listen();
  const detach = processes.attach(one.entry);
  try {
    yield { event: { event: { case: "start", value: { pid: one.pid } } } };
    yield* output(one, listener, keepaliveMs(requestHeader), signal);
    throwIfBrokenOff(signal);
    if (one.end) yield { event: { event: { case: "end", value: one.end } } };
  } finally {
    listener.leave();
    detach();
  }
}

async function* output(
  { isTerminal }: E2BProcess,
  listener: Listener,
  quietMs: number,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  for await (const piece of listener.pieces(quietMs, signal)) {
    if (piece === "quiet") yield { event: { event: { case: "keepalive", value: {} } } };
    else {
      const output = { case: isTerminal ? "pty" as const : piece.stream, value: piece.bytes };
      yield { event: { event: { case: "data", value: { output } } } };
    }
  }
}

/** If the request does not say after how many silent seconds a keepalive is sent. */
const KEEPALIVE_SECONDS = 90;

/** Returns after how many silent milliseconds a stream sends a keepalive. */
export function keepaliveMs(headers: Headers): number {
  const seconds = Number(headers.get("Keepalive-Ping-Interval"));
  return (Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, 86_400) : KEEPALIVE_SECONDS) * 1000;
}

/** Composes the command, as E2B's environment demands: its user, and which sandbox it is in. */
async function commandOf(root: Root, config: NonNullable<StartRequest["process"]>, headers: Headers): Promise<Command> {
  const id = headers.get("E2b-Sandbox-Id");
  const env = {
    ...userEnvironment(),
    ...traceEnvironment(headers),
    E2B_SANDBOX: "true",
    ...id ? { E2B_SANDBOX_ID: id } : {},
    ...config.envs,
  };
  return { argv: [config.cmd, ...config.args], cwd: await folderOf(root, config.cwd), env };
}

/** Returns `USER` and `LOGNAME`, which a container need not have. */
function userEnvironment(): Record<string, string> {
  try {
    const name = process.env["USER"] ?? userInfo().username;
    return { USER: name, LOGNAME: process.env["LOGNAME"] ?? name };
  } catch {
    // The user of the container has no name.
    return {};
  }
}

async function folderOf(root: Root, cwd = ""): Promise<string> {
  if (cwd === "") return await homeOf(root);
  try {
    return await root.resolve(await absolutePath(root, cwd));
  } catch (error) {
    throw refusedFor(error, cwd)?.code === "NOT_FOUND" ? noFolder(cwd) : codedError(error, cwd);
  }
}

function noFolder(cwd: string): ConnectError {
  return new ConnectError(`cwd '${cwd}' does not exist`, Code.InvalidArgument);
}

/** Whatever keeps a program from starting is the fault of the request. */
function startError(error: unknown, cwd = ""): unknown {
  if (!(error instanceof SpawnError)) return codedError(error);
  if (error.code === "bad-cwd") return noFolder(cwd);
  return new ConnectError(error.message, error.code === "failed" ? Code.Internal : Code.InvalidArgument);
}

/** Terminals without a size get the usual one. */
function sizeOf(pty: PTY | undefined) {
  return pty && { cols: pty.size?.cols || 80, rows: pty.size?.rows || 24 };
}

async function send(one: E2BProcess, input: ProcessInput | undefined, signal: AbortSignal): Promise<void> {
  const given = input?.input;
  if (given?.case === undefined) throw new ConnectError("there is no input", Code.InvalidArgument);
  if (given.case === "pty" && !one.isTerminal) throw noTerminal(one);
  if (given.case === "stdin" && one.isTerminal) {
    throw new ConnectError(`process ${one.pid} has a terminal: its input is pty`, Code.Internal);
  }
  if (!await writeInput(one.entry, given.value, signal)) {
    throw new ConnectError(`the input of process ${one.pid} is closed, or was not enabled`, Code.Internal);
  }
  throwIfBrokenOff(signal);
}

function noTerminal({ pid }: E2BProcess): ConnectError {
  return new ConnectError(`process ${pid} has no terminal`, Code.Internal);
}
