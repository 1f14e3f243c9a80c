/** Starts and ends the cluster's processes, by their own ids only. Must never signal a process it did not start. @module */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { listProcesses, type ProcessEntry, readEnvironment, readProcess } from "../../packages/process/proctable.ts";

/** A process, told from a later one with the same pid by when it started. */
export interface ProcessRecord {
  name: string;
  pid: number;
  /** Clock ticks from boot to the start of the process, as in /proc/<pid>/stat. */
  startTime: string;
  /** Absent for a process that is not ours to start, such as the owner of a cluster. */
  logFile?: string;
}

/** Reads when a process started; `undefined` if it is gone or only waits to be reaped. */
export function startTimeOf(pid: number): string | undefined {
  const { state, startTicks } = readProcess(pid) ?? {};
  return state === "Z" || state === "X" ? undefined : startTicks?.toString();
}

/** Tells whether the very process of the record still runs. */
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
 * Starts a process in a session of its own, its output in a file, so that neither Ctrl-C in a terminal nor the end of
 * this process reaches it.
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
 * Ends processes at once (nothing of theirs is kept) and waits until they are gone.
 *
 * @throws {Error} if one of them is still there after ten seconds
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

/** Ends a process by SIGTERM, so that it can finish what it is at; at once if it is still there after five seconds. */
export async function endGently(record: ProcessRecord): Promise<void> {
  if (isRunning(record)) process.kill(record.pid, "SIGTERM");
  for (let tries = 0; tries < 200 && isRunning(record); tries++) await sleep(25);
  await endProcesses([record]);
}
