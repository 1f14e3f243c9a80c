/** The processes that E2B's clients have started, and for a while those that have ended. @module */
import { constants } from "node:os";
import process from "node:process";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ProcessConfig,
  ProcessEvent_EndEventSchema,
  ProcessSelector,
} from "../../../runtime-api/gen/e2b/process_pb.ts";
import { drained } from "../../processes/output.ts";
import type { Process, ProcessEnd } from "../../processes/processes.ts";
import { type Broadcast, createBroadcast } from "./broadcast.ts";

/** How a process ended, for clients. */
type EndEvent = MessageInitShape<typeof ProcessEvent_EndEventSchema>;

/** A process that a client has started. */
export interface E2BProcess {
  pid: number;
  /** What the client asked for. */
  config: ProcessConfig;
  tag: string | undefined;
  entry: Process;
  isTerminal: boolean;
  output: Broadcast;
  /** Set when the process has ended and its output is complete. */
  end: EndEvent | undefined;
  /**
   * Sends a signal to this one process, and lets the end no longer wait for children that keep its output open.
   *
   * @returns false if it has been killed before
   */
  kill(signal: "SIGKILL" | "SIGTERM"): boolean;
}

/** What is remembered of a process that has ended: not its command, which may be long. */
export type EndedProcess = Pick<E2BProcess, "pid" | "tag"> & { end: EndEvent };

/** All of them. */
export interface E2BProcesses {
  add(entry: Process, config: ProcessConfig, tag: string | undefined): E2BProcess;
  /** Finds a running process, or one that has just ended. */
  find(selector: ProcessSelector["selector"]): E2BProcess | EndedProcess | undefined;
  /** Those that run, or whose output is still open. */
  running(): E2BProcess[];
}

/** How long clients may connect to a process that has ended, in milliseconds. */
const REMEMBER_MS = 30_000;
/** Ended processes that are remembered. The oldest is forgotten first. */
const MOST_ENDED = 1024;
/** Longest piece of output in a message, in bytes; that of a terminal is shorter. */
const [PIECE_BYTES, TERMINAL_PIECE_BYTES] = [32 * 1024, 16 * 1024];

/** Creates the list. */
export function createE2BProcesses(): E2BProcesses {
  const running = new Map<number, E2BProcess>();
  const ended = new Map<number, EndedProcess>();
  const remember = (one: E2BProcess, end: EndEvent) => {
    const { pid, tag } = one;
    if (running.get(pid) === one) running.delete(pid);
    const memory = { pid, tag, end };
    ended.set(pid, memory);
    const [oldest] = ended.keys();
    if (ended.size > MOST_ENDED && oldest !== undefined) ended.delete(oldest);
    setTimeout(() => ended.get(pid) === memory && ended.delete(pid), REMEMBER_MS).unref?.();
  };
  return {
    add: (entry, config, tag) => {
      const one = createProcess(entry, config, tag, remember);
      running.set(one.pid, one);
      return one;
    },
    find: ({ case: by, value }) => {
      if (by === "pid") return running.get(value) ?? ended.get(value);
      const named = [...running.values(), ...ended.values()].filter(({ tag }) => tag !== undefined && tag === value);
      return by === "tag" ? named[0] : undefined;
    },
    running: () => [...running.values()],
  };
}

function createProcess(
  entry: Process,
  config: ProcessConfig,
  tag: string | undefined,
  onEnd: (one: E2BProcess, end: EndEvent) => void,
): E2BProcess {
  const { running } = entry;
  const isTerminal = "resize" in running;
  const { stdout, stderr } = running;
  const killed = Promise.withResolvers<void>();
  let isKilled = false;
  const one: E2BProcess = {
    pid: running.pid,
    config,
    tag,
    entry,
    isTerminal,
    output: createBroadcast({ stdout, stderr }, isTerminal ? TERMINAL_PIECE_BYTES : PIECE_BYTES),
    end: undefined,
    kill: (signal) => {
      if (entry.end && isKilled) return false;
      isKilled = true;
      killed.resolve();
      if (!entry.end) process.kill(running.pid, signal);
      return true;
    },
  };
  void entry.ended.then(async (end) => {
    // Children that the process has left behind may keep its pipes open. A terminal closes with its process.
    const closed = isTerminal ? drained([stdout]) : Promise.all([stdout, stderr].map(untilClosed));
    await Promise.race([closed, killed.promise.then(() => drained([stdout, stderr]))]);
    running.release();
    one.end = endOf(end);
    onEnd(one, one.end);
    one.output.end();
  });
  return one;
}

function untilClosed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) return resolve();
    stream.once("end", resolve).once("close", resolve);
  });
}

/** Describes the end as Go does, in which E2B's server is written. */
function endOf({ exitCode, signal }: Pick<ProcessEnd, "exitCode" | "signal">): EndEvent {
  if (signal === undefined) {
    const status = `exit status ${exitCode}`;
    return { exitCode, exited: true, status, ...exitCode === 0 ? {} : { error: status } };
  }
  const status = `signal: ${SIGNAL_TEXTS[signal] ?? `signal ${constants.signals[signal]}`}`;
  return { exitCode: -1, exited: false, status, error: status };
}

const SIGNAL_TEXTS: Partial<Record<NodeJS.Signals, string>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGILL: "illegal instruction",
  SIGTRAP: "trace/breakpoint trap",
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGKILL: "killed",
  SIGUSR1: "user defined signal 1",
  SIGSEGV: "segmentation fault",
  SIGUSR2: "user defined signal 2",
  SIGPIPE: "broken pipe",
  SIGALRM: "alarm clock",
  SIGTERM: "terminated",
};
