/**
 * Sends signals to process groups, finds all processes that commands have started, in any session, and kills those of
 * one command.
 * @module
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { listProcesses, type ProcessEntry, processIds, readEnvironment, readProcess } from "../../process/proctable.ts";
import { codeOf } from "../confine.ts";

/**
 * The environment variable that shows which command a process belongs to. All processes that a command starts inherit it. A
 * command can start another runtime with commands of its own, so the variable can contain several marks.
 */
const MARK = "HOOKBOX_COMMANDS";
/** The beginning of the marks of this runtime. */
const RUNTIME = randomUUID();

/**
 * How often /proc is read, because new processes can appear while others are stopped. Processes that fork faster
 * escape.
 */
const MAX_SCANS = 20;

/** A started process with its mark. */
interface Marked {
  /** Also the id of its session. */
  pid: number;
  mark: string;
}

/** Makes a mark, and the environment variable with it for a new process. */
export function createMark(): { mark: string; env: Record<string, string> } {
  const mark = `${RUNTIME}/${randomUUID()}`;
  const outer = process.env[MARK];
  return { mark, env: { [MARK]: outer ? `${outer} ${mark}` : mark } };
}

/**
 * Kills a process and all processes that it has started: the processes of its session, the processes with its mark, and
 * their children. The function first stops them until /proc shows no new one, because a stopped process starts no others. A
 * process escapes only if it has cleared its environment, is an orphan and has a session of its own. The caller must not
 * have waited for the end of the process yet, because its id could then belong to another process.
 *
 * If /proc cannot be read, only the process group is killed.
 */
export function killAllOf(marked: Marked): void {
  const members = new Map<number, ProcessEntry>();
  const looked = new Set<number>();
  for (let looks = 0; looks < MAX_SCANS; looks++) {
    const fresh = newMembers(marked, members, looked);
    if (fresh.length === 0) break;
    for (const one of fresh) signal(one, "SIGSTOP");
  }
  for (const one of members.values()) signal(one, "SIGKILL");
  signalGroup(marked.pid, "SIGKILL");
}

/**
 * Adds members among the processes that were not checked yet, and returns them. A checked process never becomes a
 * member.
 */
function newMembers({ pid, mark }: Marked, members: Map<number, ProcessEntry>, looked: Set<number>): ProcessEntry[] {
  const ids = processIds().filter((id) => !looked.has(id));
  for (const id of ids) looked.add(id);
  const table = ids.map(readProcess).filter((one) => one !== undefined);
  // The processes that it has started are younger than it. Only these few need their environment read.
  const since = (members.get(pid) ?? table.find((one) => one.pid === pid))?.startTicks ?? 0;
  const young = table.filter((one) => one.state !== "Z" && one.startTicks >= since && one.pid !== process.pid);
  const fresh = young.filter((one) => one.sid === pid || members.has(one.ppid) || hasMark(one.pid, mark));
  for (const one of fresh) members.set(one.pid, one);
  const children = Map.groupBy(young, ({ ppid }) => ppid);
  // The loop also visits the members that it adds.
  for (const member of fresh) {
    for (const child of children.get(member.pid) ?? []) {
      if (members.has(child.pid)) continue;
      members.set(child.pid, child);
      fresh.push(child);
    }
  }
  return fresh;
}

/** The sessions of commands, terminals and code, by the id of their leader, and whether the leader has ended. */
const sessions = new Map<number, { hasEnded: boolean }>();
/** From this number of sessions on, those without processes are forgotten at once. */
const MANY_SESSIONS = 1000;

/** Remembers the session of a new process. */
export function rememberSession(pid: number, ended: Promise<unknown>): void {
  if (sessions.size >= MANY_SESSIONS) forgetEmptySessions(listProcesses());
  const session = { hasEnded: false };
  sessions.set(pid, session);
  ended.then(() => session.hasEnded = true);
}

/** The system uses an id again only if its session has no process left: a live leader then has another session. */
function forgetEmptySessions(entries: ProcessEntry[]): void {
  const inUse = new Set(entries.map(({ sid }) => sid));
  const alive = new Set(entries.map(({ pid }) => pid));
  for (const [id, { hasEnded }] of sessions) {
    if (hasEnded && (!inUse.has(id) || alive.has(id))) sessions.delete(id);
  }
}

/**
 * Returns the ids of the processes that commands, terminals and code of this runtime have started, directly or not: those
 * in their sessions, those with a mark of this runtime, and their children. sudo removes the mark from the environment,
 * and the environment of another user's process cannot be read. Such a process is missed only if it is also an orphan
 * in a session of its own.
 *
 * @param entries all processes
 */
export function startedByCommands(entries: ProcessEntry[]): Set<number> {
  forgetEmptySessions(entries);
  const found = new Set<number>();
  // Children come after their parents.
  for (const { pid, ppid, sid } of entries.toSorted((a, b) => a.startTicks - b.startTicks || a.pid - b.pid)) {
    if (found.has(ppid) || sessions.has(sid) || hasMarkOfRuntime(pid)) found.add(pid);
  }
  return found;
}

function hasMarkOfRuntime(pid: number): boolean {
  return readEnvironment(pid).some((one) => one.startsWith(`${MARK}=`) && one.includes(`${RUNTIME}/`));
}

function hasMark(pid: number, mark: string): boolean {
  const ofMarks = (one: string) => one.startsWith(`${MARK}=`) && one.slice(MARK.length + 1).split(" ").includes(mark);
  return readEnvironment(pid).some(ofMarks);
}

function signal(entry: ProcessEntry, name: "SIGSTOP" | "SIGKILL"): void {
  // The id may belong to another process by now.
  if (readProcess(entry.pid)?.startTicks !== entry.startTicks) return;
  try {
    process.kill(entry.pid, name);
  } catch (error) {
    // The process has just ended, or runs as another user by a setuid program. Deno has the code only in the message.
    if (!/ESRCH|EPERM/.test(`${codeOf(error)} ${error instanceof Error ? error.message : ""}`)) throw error;
  }
}

/** Sends `signal` to every process of the group; false if the group has no process left. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  // Ids 0 and 1 would signal the runtime's own group, or all processes.
  if (!Number.isInteger(pgid) || pgid < 2) throw new RangeError(`Cannot signal group ${pgid}: no such group`);
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    // Deno has the code only in the message.
    if (error instanceof Error && /ESRCH|EPERM/.test(`${"code" in error ? error.code : ""} ${error.message}`)) {
      return false;
    }
    throw error;
  }
}
