/** Starts processes, loads them, and reads how much CPU and memory they use. @module */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { type ProcessEntry, readProcess } from "../../../packages/process/proctable.ts";

const ROOT = new URL("../../../", import.meta.url);
/** The script of the server, the bare proxy and the clients. */
export const PROCESSES = "dev/bench/router/processes.ts";

/** A process that has printed the port on which it listens. */
export interface Running {
  child: ChildProcess;
  port: number;
}

/** The results of one load, and what it cost the process that answered. Times are in milliseconds. */
export interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  failures: number;
  /** CPU time of the process for each request, in microseconds, and its memory after the load, in MiB. */
  cpu: number;
  rss: number;
}

/** Starts a script of this checkout, and waits until it has printed a port. @throws if it ends before */
export function start(script: string, args: string[], portIn: RegExp): Promise<Running> {
  return startProgram(process.execPath, [new URL(script, ROOT).pathname, ...args], portIn);
}

/** Starts a program, and waits until it has printed its port. @throws if it ends before */
export async function startProgram(program: string, args: string[], portIn: RegExp): Promise<Running> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    const read = (chunk: Uint8Array) => {
      const [, found] = portIn.exec(output += chunk) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once(
      "exit",
      (code) => reject(new Error(`Cannot start ${program} ${args[0]}: it ended with ${code}: ${output}`)),
    );
  });
  // All further output is read and dropped. Otherwise, the pipe would fill and block the process.
  child.stdout?.removeAllListeners("data").resume();
  child.stderr?.removeAllListeners("data").resume();
  return { child, port };
}

/** Sends requests to a server for `ms` milliseconds. @param headers headers in addition to those of every request */
export async function load(
  { child, port }: Running,
  { target, clients, ms, headers = "" }: { target: number; clients: number; ms: number; headers?: string },
): Promise<Round> {
  const before = statOf(child).cpuSeconds;
  const args = [
    new URL(PROCESSES, ROOT).pathname,
    "load",
    ...[port, target, clients, ms].map(String),
    headers,
  ];
  const loader = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of loader.stdout) text += chunk;
  const { requests, failures, seconds, p50, p99 } = JSON.parse(text);
  const { cpuSeconds, rssBytes } = statOf(child);
  const cpu = (cpuSeconds - before) * 1e6 / requests;
  return { perSecond: requests / seconds, p50, p99, failures, cpu, rss: rssBytes / 2 ** 20 };
}

function statOf({ pid = 0 }: ChildProcess): ProcessEntry {
  const entry = readProcess(pid);
  if (!entry) throw new Error(`Cannot measure process ${pid}: it has ended`);
  return entry;
}
