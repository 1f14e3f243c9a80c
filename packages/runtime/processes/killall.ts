/** Kills a process with all that it has started, in whatever session; it must not touch what others have started. @module */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { listProcesses, type ProcessEntry, readProcess } from "../../process/proctable.ts";
import { codeOf } from "../confine.ts";
import { signalGroup } from "./signals.ts";

/**
 * The variable by which a process is known to belong to a command: all that it starts inherits it. It holds the marks of
 * all commands that the process belongs to: one may start a runtime of its own.
 */
const MARK = "HOOKBOX_COMMANDS";

/** New processes may appear while others are stopped; what forks faster than this many looks wins. */
const MOST_LOOKS = 20;

/** What is known of a process from its start. */
export interface Marked {
  /** Also the id of its session. */
  pid: number;
  mark: string;
}

/** Makes a mark, and the variable that a process is to have for it. */
export function createMark(): { mark: string; env: Record<string, string> } {
  const mark = randomUUID();
  const outer = process.env[MARK];
  return { mark, env: { [MARK]: outer ? `${outer} ${mark}` : mark } };
}

/**
 * Kills a process whose end has not been waited for yet, and all that it has started: its session, what has the mark, and
 * the children of all of them. They are stopped first, until a look at /proc finds no other: what is stopped starts
 * nothing. Only who has cleared its environment and made itself an orphan in a session of its own escapes.
 *
 * Where /proc cannot be read, only the process group is killed.
 */
export function killAllOf(marked: Marked): void {
  const known = new Map<string, ProcessEntry>();
  const strangers = new Set<string>();
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const found = membersOf(listProcesses(), marked, strangers).filter((one) => !known.has(keyOf(one)));
    if (found.length === 0) break;
    for (const one of found) {
      known.set(keyOf(one), one);
      signal(one, "SIGSTOP");
    }
  }
  for (const one of known.values()) signal(one, "SIGKILL");
  signalGroup(marked.pid, "SIGKILL");
}

/** @param strangers those of earlier looks that are no members, and cannot become any; new ones are added */
function membersOf(table: ProcessEntry[], { pid, mark }: Marked, strangers: Set<string>): ProcessEntry[] {
  const living = table.filter((one) => one.state !== "Z" && one.pid !== process.pid && one.pid > 1);
  const members = new Set(living.filter((one) => {
    if (one.sid === pid) return true;
    if (strangers.has(keyOf(one))) return false;
    if (hasMark(one.pid, mark)) return true;
    strangers.add(keyOf(one));
    return false;
  }));
  const children = Map.groupBy(living, ({ ppid }) => ppid);
  // A Set is walked to what is added on the way.
  for (const member of members) children.get(member.pid)?.forEach((child) => members.add(child));
  return [...members];
}

/** Its environment as it was at its last exec; what may not be read is another user's. */
function hasMark(pid: number, mark: string): boolean {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return variables.some((one) => one.startsWith(`${MARK}=`) && one.slice(MARK.length + 1).split(" ").includes(mark));
  } catch {
    return false;
  }
}

/** An id may be given to another process: it is that of the same one only with the same start. */
function keyOf({ pid, startTicks }: ProcessEntry): string {
  return `${pid} ${startTicks}`;
}

function signal(entry: ProcessEntry, name: "SIGSTOP" | "SIGKILL"): void {
  const now = readProcess(entry.pid);
  if (!now || keyOf(now) !== keyOf(entry)) return;
  try {
    process.kill(entry.pid, name);
  } catch (error) {
    // Gone just now, or another user's by a setuid program. Deno has the code in the message only.
    if (!/ESRCH|EPERM/.test(`${codeOf(error)} ${error instanceof Error ? error.message : ""}`)) throw error;
  }
}
