/** How much memory processes of this machine take at most while something happens. Linux, as root. @module */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Growth of the resident set, in bytes. */
export interface Growth {
  /** What the process had when it began. */
  before: number;
  /** The most that it had at any time, less that. */
  growth: number;
}

/** Runs `act` and returns how far each of the processes grew: the kernel keeps the peak, so none is missed. */
export async function growthDuring(pids: number[], act: () => Promise<void>): Promise<Growth[]> {
  // Source: proc_pid_clear_refs(5): 5 sets the peak to what it is now.
  for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const before = pids.map((pid) => bytesOf(pid, "VmRSS"));
  await act();
  return before.map((bytes, i) => ({ before: bytes, growth: bytesOf(pids[i] ?? 0, "VmHWM") - bytes }));
}

/** Finds the process of a Pod whose command line contains `command`. @throws {Error} unless there is exactly one */
export function processIn(pod: string, command: string): number {
  const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    // Processes come and go.
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      return /\/node$/.test(words[0] ?? "") && words.some((word) => word.includes(command)) &&
        variables.includes(`HOSTNAME=${pod}`);
    } catch {
      return false;
    }
  });
  if (found.length !== 1) {
    throw new Error(`Cannot find ${command} in Pod ${pod}: ${found.length} processes are like it`);
  }
  return Number(found[0]);
}

function bytesOf(pid: number, field: string): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ??
    [];
  if (kilobytes === undefined) throw new Error(`Cannot read ${field} of process ${pid}: it says none`);
  return Number(kilobytes) * 1024;
}
