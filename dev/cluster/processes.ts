/**
 * Starts and ends the cluster's processes, only by their own process IDs. Must never signal a process that it did not
 * start. @module
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
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
