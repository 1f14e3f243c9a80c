/** Defines `sandbox.pty`: programs that run in a terminal. @module */
import { createClient } from "@connectrpc/connect";
import { ProcessesService, type ProcessInfo } from "../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import type { CommandOptions } from "./commands/commands.ts";
import { collect } from "./commands/output.ts";
import { controlOf, eventsInTime, eventsOf, type ProcessEvent, requestOf } from "./commands/process.ts";
import { eventsOfExec, startByExec } from "./commands/withoutruntime.ts";
import { NotFoundError } from "./errors.ts";
import { call, type CallOptions, orAborted } from "./runtime/call.ts";
import { withRetries } from "./runtime/repeat.ts";
import { lacksRuntime, type RuntimeClient } from "./runtime/runtimeclient.ts";

/** Size of a terminal, in characters; from 1 to 65535. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** Options of `pty.create`. */
export interface PTYOptions extends CommandOptions, TerminalSize {
  /** Program to run; a string is run by a shell. @default a shell: bash if the sandbox has it, else sh */
  command?: string | string[];
  /** Called with the bytes that the terminal displays. If it returns a promise, the program waits until it resolves. */
  onData?: (bytes: Uint8Array) => unknown;
  /**
   * Keeps the program running if `signal` is aborted or `onData` throws, so that `connect` can open its terminal again.
   *
   * @default false
   */
  background?: boolean;
}

/** Options of `pty.connect`. */
export interface PTYConnectOptions extends TerminalSize {
  /**
   * Id of the request that started the program, from `commands.list` or {@link Terminal}. If the sandbox was restarted,
   * another program may have the process id; `connect` then throws {@link NotFoundError}.
   *
   * @default any program
   */
  requestId?: string | undefined;
  /**
   * Called with the bytes that the terminal has displayed so far, as far as the sandbox keeps them (the last 4 MiB), and
   * then with new ones.
   *
   * @param isPast whether the terminal displayed the bytes before this call: do not send the answers that they cause
   */
  onData?: (bytes: Uint8Array, isPast: boolean) => unknown;
  /** Ends the connection. The program continues to run. */
  signal?: AbortSignal;
}

/** An open terminal and the program that runs in it. */
export interface Terminal {
  /** Undefined in a sandbox without hookbox's runtime. */
  processId: number | undefined;
  /** Id of the request that started the program, for `pty.connect`; undefined if the runtime gives none. */
  requestId: string | undefined;
  /** Sends input. It is sent once, even if the connection breaks. */
  write(data: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** Changes the size of the terminal; the program is notified. */
  resize(size: TerminalSize, options?: CallOptions): Promise<void>;
  /**
   * Kills the program and all processes that it started. Returns false if it has ended. In a sandbox without hookbox's
   * runtime, it closes the terminal.
   */
  kill(options?: CallOptions): Promise<boolean>;
  /** Resolves when the program has ended. The exit code is -1 if a signal ended it. */
  wait(options?: CallOptions): Promise<{ exitCode: number }>;
}

/** Terminals of one sandbox. */
export interface PTY {
  /**
   * Opens a terminal and starts a program in it. With hookbox's runtime, the terminal survives broken connections.
   * Without it, and if the client can use the API server, the terminal is opened as by `kubectl exec -it`.
   *
   * ```ts
   * const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (bytes) => void process.stdout.write(bytes) });
   * await terminal.write("ls -l\n");
   * ```
   */
  create(options: PTYOptions): Promise<Terminal>;
  /**
   * Opens the terminal of a running program again. `commands.list` lists the programs that have a terminal. Several
   * clients can use one terminal; its size is the one that was set last.
   *
   * @throws {@link NotFoundError} if no program with a terminal runs under this id, or not the one of `requestId`
   */
  connect(processId: number, options: PTYConnectOptions): Promise<Terminal>;
}

const SHELL = ["/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi"];
const ACTION = "open a terminal";

/** Creates the `pty` of one sandbox. */
export function createPTY(runtimeClient: RuntimeClient): PTY {
  return {
    async create(options) {
      const { user } = options;
      // Nothing else can choose a user.
      if (user !== undefined) return await openByRuntime(runtimeClient.as(user), options);
      if (runtimeClient.known.runtime === false) return await openByExec(runtimeClient, options);
      try {
        return await openByRuntime(runtimeClient, options);
      } catch (error) {
        if (runtimeClient.transport.exec && await lacksRuntime(runtimeClient, error)) {
          return await openByExec(runtimeClient, options);
        }
        throw error;
      }
    },
    connect: (processId, options) => connectTo(runtimeClient, processId, options),
  };
}

async function connectTo(
  runtimeClient: RuntimeClient,
  processId: number,
  { cols, rows, requestId, onData = () => {}, signal }: PTYConnectOptions,
): Promise<Terminal> {
  const action = `connect to terminal ${processId}`;
  const client = createClient(ProcessesService, runtimeClient.connectTransport);
  const list = () => call(runtimeClient, action, { signal }, (sent) => client.list({}, sent));
  const { processes } = await withRetries(list, { repeatable: true, signal });
  const isWanted = (one: ProcessInfo) =>
    one.processId === processId && one.terminal && one.end === undefined &&
    // An older runtime gives no request ids.
    (requestId === undefined || one.requestId === "" || one.requestId === requestId);
  const found = processes.find(isWanted);
  if (found === undefined) {
    const why = requestId === undefined
      ? "no program runs in it"
      : "its program has ended, or the sandbox was restarted";
    throw new NotFoundError(`Cannot ${action}: ${why}`, { object: runtimeClient.object });
  }
  const { write, resize, kill } = controlOf(runtimeClient, processId);
  await resize({ cols, rows }, { signal });
  const receive = (bytes: Uint8Array, offset = 0) => onData(bytes, offset < Number(found.outputBytes));
  const source = { processId, isTerminal: true, requestId: found.requestId };
  const events = eventsOf(runtimeClient, source, action, signal);
  const wait = createWait(runtimeClient, events, receive);
  return {
    processId,
    requestId: found.requestId || undefined,
    write,
    resize,
    kill: (call) => kill("SIGKILL", call),
    wait,
  };
}

async function openByRuntime(runtimeClient: RuntimeClient, options: PTYOptions): Promise<Terminal> {
  const { cols, rows, command = SHELL, onData, background = false, ...more } = options;
  const start = { ...requestOf(command, more), pty: { cols, rows }, stdin: true, lossless: true };
  const events = eventsInTime(runtimeClient, start, ACTION, options);
  const first = await events.next();
  const processId = first.value?.type === "started" ? first.value.processId : 0;
  const { write, resize, kill } = controlOf(runtimeClient, processId);
  const wait = createWait(runtimeClient, events, bytesOnly(onData), background ? undefined : kill);
  return { processId, requestId: start.requestId, write, resize, kill: (call) => kill("SIGKILL", call), wait };
}

async function openByExec(runtimeClient: RuntimeClient, options: PTYOptions): Promise<Terminal> {
  const { cols, rows, command = SHELL, onData, timeoutMs } = options;
  const session = await startByExec(runtimeClient.transport, command, {
    ...options,
    stdin: true,
    size: { cols, rows },
  });
  let isOpen = true;
  const kill = () => {
    const was = isOpen;
    session.close();
    return Promise.resolve(was);
  };
  const wait = createWait(runtimeClient, eventsOfExec(session, ACTION, timeoutMs), bytesOnly(onData), kill);
  wait().then(() => isOpen = false, () => isOpen = false);
  const write: Terminal["write"] = (data) =>
    session.write(typeof data === "string" ? new TextEncoder().encode(data) : data);
  return { processId: undefined, requestId: undefined, write, resize: session.resize, kill, wait };
}

/** A new terminal has no output from before, and its offsets must not be taken for `isPast` of `connect`. */
function bytesOnly(onData: PTYOptions["onData"] = () => {}): (bytes: Uint8Array) => unknown {
  return (bytes) => onData(bytes);
}

/** Passes output to `onData` until the program ends. If the events fail or `onData` throws, `kill` is called. */
function createWait(
  { object }: RuntimeClient,
  events: AsyncIterable<ProcessEvent>,
  onData: (bytes: Uint8Array, offset?: number) => unknown = () => {},
  kill: () => Promise<unknown> = () => Promise.resolve(),
): Terminal["wait"] {
  const ended = collect(passBytes(events, onData), { action: ACTION, object, maxOutputLength: 0 });
  // If nobody calls `wait`, the failure is not reported.
  ended.catch(() => kill().catch(() => {}));
  return async ({ signal } = {}) => ({ exitCode: (await orAborted(ended, signal)).exitCode });
}

async function* passBytes(
  events: AsyncIterable<ProcessEvent>,
  onData: (bytes: Uint8Array, offset?: number) => unknown,
) {
  for await (const event of events) {
    if (event.type === "output") await onData(event.bytes, event.offset);
    yield event;
  }
}
