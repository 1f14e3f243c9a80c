/** Kills a process with all that it has started, in whatever session; it must not touch what others have started. @module */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { type ProcessEntry, processIds, readEnvironment, readProcess } from "../../process/proctable.ts";
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
  const members = new Map<number, ProcessEntry>();
  const looked = new Set<number>();
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const fresh = newMembers(marked, members, looked);
    if (fresh.length === 0) break;
    for (const one of fresh) signal(one, "SIGSTOP");
  }
  for (const one of members.values()) signal(one, "SIGKILL");
  signalGroup(marked.pid, "SIGKILL");
}

/** Adds those that have not been looked at, and returns them: who was no member before cannot become one. */
function newMembers({ pid, mark }: Marked, members: Map<number, ProcessEntry>, looked: Set<number>): ProcessEntry[] {
  const ids = processIds().filter((id) => !looked.has(id));
  for (const id of ids) looked.add(id);
  const table = ids.map(readProcess).filter((one) => one !== undefined);
  // What it has started is younger than it is: that leaves few whose environment has to be read.
  const since = (members.get(pid) ?? table.find((one) => one.pid === pid))?.startTicks ?? 0;
  const young = table.filter((one) => one.state !== "Z" && one.startTicks >= since && one.pid !== process.pid);
  const fresh = young.filter((one) => one.sid === pid || members.has(one.ppid) || hasMark(one.pid, mark));
  for (const one of fresh) members.set(one.pid, one);
  const children = Map.groupBy(young, ({ ppid }) => ppid);
  // It is walked to what is added on the way.
  for (const member of fresh) {
    for (const child of children.get(member.pid) ?? []) {
      if (members.has(child.pid)) continue;
      members.set(child.pid, child);
      fresh.push(child);
    }
  }
  return fresh;
}

function hasMark(pid: number, mark: string): boolean {
  const ofMarks = (one: string) => one.startsWith(`${MARK}=`) && one.slice(MARK.length + 1).split(" ").includes(mark);
  return readEnvironment(pid).some(ofMarks);
}

function signal(entry: ProcessEntry, name: "SIGSTOP" | "SIGKILL"): void {
  // An id may have been given to another process.
  if (readProcess(entry.pid)?.startTicks !== entry.startTicks) return;
  try {
    process.kill(entry.pid, name);
  } catch (error) {
    // Gone just now, or another user's by a setuid program. Deno has the code in the message only.
    if (!/ESRCH|EPERM/.test(`${codeOf(error)} ${error instanceof Error ? error.message : ""}`)) throw error;
  }
}
