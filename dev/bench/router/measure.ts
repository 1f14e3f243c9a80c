/** Starts processes, loads them, and reads what they use. Judges nothing. @module */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { type ProcessEntry, readProcess } from "../../../packages/process/proctable.ts";

const ROOT = new URL("../../../", import.meta.url);

/** A process that has said where it listens. */
export interface Running {
  child: ChildProcess;
  port: number;
}

/** What one load was answered with, and what it cost the one that answered. Times in milliseconds. */
export interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  failures: number;
  /** CPU of the process for each request, in microseconds; memory afterwards, in MiB. */
  cpu: number;
  rss: number;
}

/** Starts one of our scripts and waits until what it prints has a port in it. @throws if it ends before */
export function start(script: string, args: string[], portIn: RegExp): Promise<Running> {
  return startProgram(process.execPath, [new URL(script, ROOT).pathname, ...args], portIn);
}

/** Starts a program and waits until what it prints has the port in it that it was given, or took. @throws if it ends before */
export async function startProgram(program: string, args: string[], portIn: RegExp): Promise<Running> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const port = await new Promise<number>((resolve, reject) => {
    const hear = (chunk: Uint8Array) => {
      const [, found] = portIn.exec(said += chunk) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once(
      "exit",
      (code) => reject(new Error(`Cannot start ${program} ${args[0]}: it ended with ${code}: ${said}`)),
    );
  });
  // Whatever else it says is read and dropped, as a log's reader would.
  child.stdout?.removeAllListeners("data").resume();
  child.stderr?.removeAllListeners("data").resume();
  return { child, port };
}

/** Sends requests to a server for `ms` milliseconds. @param headers added to those that every router needs */
export async function load(
  { child, port }: Running,
  { target, clients, ms, headers = "" }: { target: number; clients: number; ms: number; headers?: string },
): Promise<Round> {
  const before = statOf(child).cpuSeconds;
  const args = [
    new URL("dev/bench/router/load.ts", ROOT).pathname,
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
  if (!entry) throw new Error(`Cannot measure process ${pid}: it is gone`);
  return entry;
}
