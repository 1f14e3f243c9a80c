/**
 * Starts and ends the cluster's processes, only by their own process IDs, and waits until one is ready. Must never
 * signal a process that it did not start. @module
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { listProcesses, type ProcessEntry, readEnvironment, readProcess } from "../../packages/process/proctable.ts";

/** A process. The start time distinguishes it from a later process with the same process ID. */
export interface ProcessRecord {
  name: string;
  pid: number;
  /** Clock ticks from boot to the start of the process, as in /proc/<pid>/stat. */
  startTime: string;
  /** Absent: hookbox has not started this process, for example the owner of a cluster. */
  logFile?: string;
}

/** Returns when a process started; undefined: it does not exist, or is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  const { state, startTicks } = readProcess(pid) ?? {};
  return state === "Z" || state === "X" ? undefined : startTicks?.toString();
}

/** Tells whether exactly this process still runs. */
export function isRunning(record: ProcessRecord): boolean {
  return startTimeOf(record.pid) === record.startTime;
}

/** The environment variable with a cluster's id. All processes of the cluster inherit it. */
export const CLUSTER_VARIABLE = "HOOKBOX_CLUSTER";

/** Lists the running processes of a cluster, including those that its record lacks. */
export function processesOf(id: string): ProcessRecord[] {
  const variable = `${CLUSTER_VARIABLE}=${id}`;
  return listProcesses().filter(({ pid }) => readEnvironment(pid).includes(variable)).map(toRecord).filter(isRunning);
}

function toRecord({ name, pid, startTicks }: ProcessEntry): ProcessRecord {
  return { name, pid, startTime: startTicks.toString() };
}

export function thisProcess(): ProcessRecord {
  return { name: "owner", pid: process.pid, startTime: startTimeOf(process.pid) ?? "" };
}

/**
 * Starts a process in its own session, with its output in a file. So neither Ctrl-C in a terminal nor the end of this
 * process ends it.
 *
 * @throws {Error} if the command does not exist
 */
export function startProcess(
  spec: { name: string; command: string; args: string[]; logFile: string; env?: Record<string, string> },
): ProcessRecord {
  const log = openSync(spec.logFile, "a");
  try {
    const env = { ...process.env, ...spec.env };
    const child = spawn(spec.command, spec.args, { detached: true, stdio: ["ignore", log, log], env });
    child.on("error", () => {});
    child.unref();
    if (child.pid === undefined) throw new Error(`Cannot start ${spec.name}: ${spec.command} cannot be run`);
    return { name: spec.name, pid: child.pid, startTime: startTimeOf(child.pid) ?? "gone", logFile: spec.logFile };
  } finally {
    closeSync(log);
  }
}

/**
 * Kills processes with SIGKILL, and waits until they have ended.
 *
 * @throws {Error} if one of them still exists after ten seconds
 */
export async function endProcesses(records: ProcessRecord[]): Promise<void> {
  for (const record of records) if (isRunning(record)) process.kill(record.pid, "SIGKILL");
  for (let waited = 0; waited < 10_000; waited += 10) {
    if (!records.some(isRunning)) return;
    await sleep(10);
  }
  const left = records.filter(isRunning).map((record) => `${record.name} (process ${record.pid})`);
  throw new Error(`Cannot end ${left.join(", ")}: still running ten seconds after SIGKILL`);
}

/** Ends a process with SIGTERM, so that it can finish its work. If it still runs after five seconds, kills it. */
export async function endGently(record: ProcessRecord): Promise<void> {
  if (isRunning(record)) process.kill(record.pid, "SIGTERM");
  for (let tries = 0; tries < 200 && isRunning(record); tries++) await sleep(25);
  await endProcesses([record]);
}

interface Waiting {
  /** The end of the sentence "Cannot start …": for example `kube-apiserver`. */
  what: string;
  /** Tells whether it is ready. An error counts as "not yet", and is reported if the time is up. */
  probe: () => Promise<boolean>;
  /** If one of these ends, the wait ends with an error. */
  needs: ProcessRecord[];
  timeoutSeconds: number;
  /** How long to wait between two calls of `probe`; the default is 25. */
  everyMilliseconds?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `probe` repeatedly until it returns true.
 *
 * @throws {Error} one clear sentence and the last lines of the log, if a needed process ends or the time is up
 */
export async function waitUntil(waiting: Waiting): Promise<void> {
  const deadline = Date.now() + waiting.timeoutSeconds * 1000;
  let lastError: unknown;
  while (Date.now() < deadline) {
    try {
      if (await waiting.probe()) return;
    } catch (error) {
      lastError = error;
    }
    const ended = waiting.needs.find((needed) => !isRunning(needed));
    if (ended) throw new Error(`Cannot start ${waiting.what}: ${ended.name} has ended${logTail(ended)}`);
    await sleep(waiting.everyMilliseconds ?? 25, undefined, { signal: waiting.signal });
  }
  const seen = lastError === undefined
    ? ""
    : ` (${lastError instanceof Error ? lastError.message : String(lastError)})`;
  const last = waiting.needs.at(-1);
  const tail = last ? logTail(last) : "";
  throw new Error(`Cannot start ${waiting.what}: not ready after ${waiting.timeoutSeconds} s${seen}${tail}`);
}

/** Returns the last lines of a process's log, to be appended to a sentence; empty: there are none. */
export function logTail(record: ProcessRecord, lines = 15): string {
  if (record.logFile === undefined || !existsSync(record.logFile)) return "";
  const all = readFileSync(record.logFile, "utf8").trimEnd().split("\n");
  const tail = all.slice(-lines).map((line) => `  ${line}`).join("\n");
  return `\nLast lines of ${record.logFile}:\n${tail}`;
}

/**
 * Resolves when `url` answers with a success. @throws {Error} with the end of the log if the process ends first, or
 * after 20 s
 */
export async function untilAnswering(url: string, server: ProcessRecord, signal: AbortSignal): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    signal.throwIfAborted();
    if (!isRunning(server)) break;
    await sleep(50);
  }
  const log = server.logFile && existsSync(server.logFile) ? readFileSync(server.logFile, "utf8").slice(-1500) : "";
  throw new Error(`Cannot start ${server.name}: ${url} does not answer\n${log}`);
}
