/** The processes that the runtime has started, by id. @module */
import type { BoundVariables, Command } from "./command.ts";
import { drained } from "./output.ts";
import { createOutputLog, type OutputLog, type PausableWriter } from "./outputlog.ts";
import { type Finished, run, type RunLimits, watchLimits } from "./run.ts";
import { type Running, start } from "./spawn.ts";
import { type RunningTerminal, startTerminal, type TerminalSize } from "./terminal.ts";

/** How a process ended. */
export interface ProcessEnd {
  /** -1 if a signal ended it. */
  exitCode: number;
  signal: NodeJS.Signals | undefined;
  timedOut: boolean;
  at: Date;
}

/** One process. */
export interface Process {
  running: Running | RunningTerminal;
  command: Command;
  /** The caller's name for it; may be empty. */
  name: string;
  /** Id of the request that started it; empty if it had none. */
  requestId: string;
  startedAt: Date;
  /** Undefined while it runs. */
  end: ProcessEnd | undefined;
  /** Its output; only for detached processes. */
  log: OutputLog | undefined;
  /** Number of readers of its output. */
  attached: number;
  /** The caller that started it has received its end, so probably no other caller asks for it. */
  isDelivered: boolean;
  /** Resolves when it has ended, and for a detached process, when its log has ended. */
  ended: Promise<ProcessEnd>;
  /** As `ended`, but resolves with undefined if `signal` aborts first. */
  endedUnless(signal: AbortSignal): Promise<ProcessEnd | undefined>;
  /** Kills the process and all processes that it has started. Does nothing if the process has ended. */
  kill(): void;
}

/** How to start a process. */
interface ProcessOptions {
  /** Starts it in a terminal of this size. */
  size?: TerminalSize | undefined;
  /** Keeps standard input open; always true for a terminal. @default {false} */
  stdin?: boolean;
  /** Keeps its output, and keeps the process in the list after its end. @default {false} */
  detached?: boolean;
  /** Pauses a detached process instead of dropping output that nobody has read yet. @default {false} */
  lossless?: boolean;
  name?: string;
  requestId?: string;
  /** Milliseconds until it is killed. */
  timeoutMs?: number | undefined;
  /** Kills the process when it aborts. */
  signal?: AbortSignal;
}

/** All processes. */
export interface Processes {
  /** @throws {SpawnError} */
  start(command: Command, options?: ProcessOptions): Promise<Process>;
  /** Runs a command as `run()` does, and lists its process in the meantime. @throws {SpawnError} */
  run(command: Command, limits: RunLimits): Promise<Finished>;
  /** Returns a running process, or a detached one that ended recently; undefined if there is none. */
  get(pid: number): Process | undefined;
  /** Oldest first. */
  list(): Process[];
  /** Removes an ended process from the list. */
  remove(pid: number): void;
  /** Counts a reader of the output. Call the returned function when it leaves. */
  attach(entry: Process): () => void;
  /** Records that the sandbox is in use. */
  touch(): void;
  lastActiveAt(): Date;
  /** Kills all running processes. */
  killAll(): void;
}

/** Limits, and additional environment variables. */
interface ProcessesOptions {
  /** Called at each start, because late binding can add variables. @default {() => ({})} */
  env?: BoundVariables;
  /** Bytes kept of the output of a detached process. @default {4 MiB} */
  keepOutputBytes?: number;
  /** How many ended detached processes are kept whose end was delivered. @default {64} */
  keepEnded?: number;
  /** How many ended detached processes are kept whose end was not delivered: a client may ask later. @default {1024} */
  keepUnasked?: number;
  /** Bytes of output that are kept of all ended processes. The oldest is dropped first. @default {128 MiB} */
  keepEndedBytes?: number;
}

/** Creates the list. */
export function createProcesses(options: ProcessesOptions = {}): Processes {
  const { env = () => ({}), keepOutputBytes = 4 << 20 } = options;
  const byId = new Map<number, Process>();
  let lastActiveAt = new Date();
  const touch = () => lastActiveAt = new Date();
  const bound = async (command: Command) => ({ ...command, env: { ...await env(), ...command.env } });
  const add = (command: Command, running: Running, more: ProcessOptions = {}): Process => {
    touch();
    const log = more.detached
      ? createOutputLog(keepOutputBytes, more.lossless ? flowOf(running) : undefined)
      : undefined;
    const entry = createEntry(command, running, more, log);
    // The system reuses an id only after its process has ended, so an entry of that id is removed.
    byId.delete(running.pid);
    byId.set(running.pid, entry);
    entry.ended.then(() => {
      touch();
      if (!log && byId.get(running.pid) === entry) byId.delete(running.pid);
      forgetOldest(byId, options);
    });
    return entry;
  };
  return {
    start: async (command, more = {}) => {
      const full = await bound(command);
      const running = more.size
        ? await startTerminal(full, more.size)
        : await start(full, { stdin: more.stdin ?? false });
      return add(command, running, more);
    },
    run: (command, limits) => {
      const listed = listedCommand(command);
      const onStart = (running: Running) => {
        add(listed, running);
        limits.onStart?.(running);
      };
      // Not async: a function that waits keeps its arguments in memory.
      return bound(command).then((full) => run(full, { ...limits, onStart }));
    },
    get: (pid) => byId.get(pid),
    list: () => [...byId.values()],
    remove: (pid) => byId.get(pid)?.end && byId.delete(pid),
    attach: (entry) => {
      touch();
      entry.attached++;
      return () => {
        touch();
        entry.attached--;
      };
    },
    touch,
    lastActiveAt: () => lastActiveAt,
    killAll: () => byId.forEach((entry) => entry.kill()),
  };
}

/** Most characters that the list keeps of each argument. A command may have many megabytes. */
const LISTED_LENGTH = 64 << 10;

function listedCommand(command: Command): Command {
  // A copy: in V8, a slice would keep the whole text in memory.
  const shorten = (word: string) => ` ${word.slice(0, LISTED_LENGTH)}…`.slice(1);
  return { ...command, argv: command.argv.map((word) => word.length > LISTED_LENGTH ? shorten(word) : word) };
}

function createEntry(command: Command, running: Running, more: ProcessOptions, log: OutputLog | undefined): Process {
  const ending = createEnding<ProcessEnd>();
  const entry: Process = {
    running,
    command,
    name: more.name ?? "",
    requestId: more.requestId ?? "",
    startedAt: new Date(),
    end: undefined,
    log,
    attached: 0,
    isDelivered: false,
    ended: ending.promise,
    endedUnless: ending.until,
    kill: running.kill,
  };
  if (log) {
    running.stdout.on("data", (bytes) => log.append("stdout", bytes));
    running.stderr.on("data", (bytes) => log.append("stderr", bytes));
  }
  let timedOut = false;
  const unwatch = watchLimits(more.timeoutMs, more.signal, (why) => {
    timedOut = why === "timeout";
    entry.kill();
  });
  running.ended.then(async ({ exitCode, signal }) => {
    unwatch();
    entry.end = { exitCode, signal, timedOut, at: new Date() };
    if (log) await closeLog(running, log);
    ending.resolve(entry.end);
  });
  return entry;
}

function flowOf({ stdout, stderr }: Running): PausableWriter {
  const streams = [stdout, stderr];
  return {
    pause: () => streams.forEach((stream) => stream.pause()),
    resume: () => streams.forEach((stream) => stream.resume()),
  };
}

async function closeLog(running: Running, log: OutputLog): Promise<void> {
  await drained([running.stdout, running.stderr]);
  running.release();
  log.end();
}

/** Removes the processes that ended first; those whose end was delivered are removed sooner. */
function forgetOldest(byId: Map<number, Process>, options: ProcessesOptions): void {
  const { keepEnded = 64, keepUnasked = 1024, keepEndedBytes = 128 << 20 } = options;
  const ended = [...byId.values()].filter(({ end }) => end).sort((a, b) => Number(a.end?.at) - Number(b.end?.at));
  const forget = (some: Process[], keep: number) => {
    for (const { running } of some.slice(0, Math.max(0, some.length - keep))) byId.delete(running.pid);
  };
  forget(ended.filter(({ isDelivered }) => isDelivered), keepEnded);
  forget(ended.filter(({ isDelivered }) => !isDelivered), keepUnasked);
  let bytes = 0;
  for (const { log } of ended.reverse()) {
    bytes += log?.memoryBytes() ?? 0;
    if (bytes > keepEndedBytes) log?.drop();
  }
}

/** An event that happens once. */
interface Ending<T> {
  promise: Promise<T>;
  resolve(end: T): void;
  /**
   * Resolves with the end, or with undefined if `signal` aborts first. Does not use Promise.race(), which would leave a
   * reaction on the promise until it resolves.
   */
  until(signal: AbortSignal): Promise<T | undefined>;
}

/** Creates an ending. */
function createEnding<T>(): Ending<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const waiting = new Set<() => void>();
  let hasEnded = false;
  return {
    promise,
    resolve: (end) => {
      hasEnded = true;
      resolve(end);
      waiting.forEach((wake) => wake());
    },
    until: async (signal) => {
      if (!hasEnded && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener("abort", wake);
        });
      }
      return hasEnded ? await promise : undefined;
    },
  };
}
