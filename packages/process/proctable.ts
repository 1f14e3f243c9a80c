/** Reads the table of processes from /proc (Linux; see proc(5)). It must not send signals. @module */
import { readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";

/** One process. */
export interface ProcessEntry {
  pid: number;
  /** The program's short name. */
  name: string;
  /** One letter; `Z`: the process has ended and was not reaped yet. */
  state: string;
  ppid: number;
  pgid: number;
  sid: number;
  /** User and system time of the process itself, in seconds. */
  cpuSeconds: number;
  /** Resident memory, in bytes. */
  rssBytes: number;
  /** Clock ticks from boot to its start. Distinguishes it from a later process with the same pid. */
  startTicks: number;
}

/** The values of USER_HZ and the page size on every Linux on which Node and Deno run, except arm64 kernels with large pages. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** Lists all visible processes; empty if there is no /proc, or no permission to read it. */
export function listProcesses(): ProcessEntry[] {
  return processIds().flatMap((pid) => readProcess(pid) ?? []);
}

/** Lists the ids of the same processes, with one system call. */
export function processIds(): number[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  } catch {
    return [];
  }
}

/** Reads one process; `undefined` if it is gone. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Reads the environment of a process at its last exec, as `NAME=value`; empty if it is gone or belongs to another user. */
export function readEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}

/** Reads the program and the arguments of a process; empty if it is gone, or has none because it is a zombie. */
export function readCommand(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

/** Returns when a process was started. */
export function startOf({ startTicks }: ProcessEntry): Date {
  return new Date(Date.now() - (uptime() - startTicks / TICKS_PER_SECOND) * 1000);
}

/**
 * Parses a line of `/proc/<pid>/stat`. The name is in parentheses and may itself contain any characters, including
 * parentheses.
 */
export function parseStat(line: string): ProcessEntry {
  const end = line.lastIndexOf(")");
  const fields = line.slice(end + 2).trim().split(" ");
  const at = (field: number) => Number(fields[field - 3]);
  return {
    pid: Number.parseInt(line),
    name: line.slice(line.indexOf("(") + 1, end),
    state: fields[0] ?? "?",
    ppid: at(4),
    pgid: at(5),
    sid: at(6),
    cpuSeconds: (at(14) + at(15)) / TICKS_PER_SECOND,
    rssBytes: at(24) * PAGE_BYTES,
    startTicks: at(22),
  };
}
