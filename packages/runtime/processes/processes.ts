/** The processes that the runtime has started, by id; it must not know a wire. @module */
import type { Command } from "./command.ts";
import { drained } from "./drain.ts";
import { createEnding } from "./ending.ts";
import type { Flow } from "./backpressure.ts";
import { watchLimits } from "./limits.ts";
import { createLog, type OutputLog } from "./log.ts";
import { type Finished, run, type RunLimits } from "./run.ts";
import { type Running, start } from "./spawn.ts";
import { type RunningTerminal, startTerminal, type TerminalSize } from "./terminal.ts";

/** How a process ended. */
export interface End {
  /** -1 when a signal ended it. */
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
  /** The request that it was started for; empty if that had no id. */
  requestId: string;
  startedAt: Date;
  /** Absent while it runs. */
  end: End | undefined;
  /** What it wrote; only of a detached process. */
  log: OutputLog | undefined;
  /** How many read its output now. */
  attached: number;
  /** The caller that started it has received its end, so probably no other caller asks for it. */
  isDelivered: boolean;
  /** Resolves when it has ended, and a detached one's log too. */
  ended: Promise<End>;
  /** The same; undefined once `signal` aborts before. */
  endedUnless(signal: AbortSignal): Promise<End | undefined>;
  /** Kills the process and all processes that it has started. Does nothing if the process has ended. */
  kill(): void;
}

/** How to start a process. */
export interface ProcessOptions {
  /** Gives it a terminal. */
  size?: TerminalSize | undefined;
  /** Keeps standard input open; a terminal's always is. @default {false} */
  stdin?: boolean;
  /** Keeps its output, and the process in the list after its end. @default {false} */
  detached?: boolean;
  /** Holds a detached process up rather than lose output that nobody has read yet. @default {false} */
  lossless?: boolean;
  name?: string;
  requestId?: string;
  /** Milliseconds until it is killed. */
  timeoutMs?: number | undefined;
  /** Kills it when it aborts. */
  signal?: AbortSignal;
}

/** All of them. */
export interface Processes {
  /** @throws {SpawnError} */
  start(command: Command, options?: ProcessOptions): Promise<Process>;
  /** `run()` of a process that is in the list meanwhile. @throws {SpawnError} */
  run(command: Command, limits: RunLimits): Promise<Finished>;
  /** A running process, or a detached one that ended lately; `undefined` if there is none. */
  get(pid: number): Process | undefined;
  /** Oldest first. */
  list(): Process[];
  /** Forgets a process that has ended. */
  remove(pid: number): void;
  /** Counts a reader of the output; the answer takes it back. */
  attach(entry: Process): () => void;
  /** Says that somebody uses the sandbox. */
  touch(): void;
  lastActiveAt(): Date;
  /** Kills all that runs. */
  killAll(): void;
}

/** Limits, and what is laid over the runtime's environment. */
export interface ProcessesOptions {
  /** Asked at each start: late binding may have added to it. @default {() => ({})} */
  env?: () => Record<string, string>;
  /** Bytes kept of a detached process's output. @default {4 MiB} */
  keepOutputBytes?: number;
  /** How many ended detached processes are kept whose end was delivered. @default {64} */
  keepEnded?: number;
  /** How many ended detached processes are kept whose end was not delivered: a client may ask later. @default {1024} */
  keepUnasked?: number;
  /** Bytes of output that are kept of all ended processes. The oldest is dropped first. @default {128 MiB} */
  keepEndedBytes?: number;
}

/** Makes the list. */
export function createProcesses(options: ProcessesOptions = {}): Processes {
  const { env = () => ({}), keepOutputBytes = 4 << 20 } = options;
  const byId = new Map<number, Process>();
  let lastActiveAt = new Date();
  const touch = () => lastActiveAt = new Date();
  const bound = (command: Command): Command => ({ ...command, env: { ...env(), ...command.env } });
  const add = (command: Command, running: Running, more: ProcessOptions = {}): Process => {
    touch();
    const log = more.detached ? createLog(keepOutputBytes, more.lossless ? flowOf(running) : undefined) : undefined;
    const entry = follow(command, running, more, log);
    // An id is used again only when its process has ended: what is left of that one goes.
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
      const full = bound(command);
      const running = more.size
        ? await startTerminal(full, more.size)
        : await start(full, { stdin: more.stdin ?? false });
      return add(command, running, more);
    },
    run: (command, limits) => run(bound(command), { ...limits, onStart: (running) => add(command, running) }),
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

function follow(command: Command, running: Running, more: ProcessOptions, log: OutputLog | undefined): Process {
  const ending = createEnding<End>();
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

function flowOf({ stdout, stderr }: Running): Flow {
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
    bytes += log?.kept() ?? 0;
    if (bytes > keepEndedBytes) log?.drop();
  }
}
