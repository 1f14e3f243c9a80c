/** Starts processes, puts load on them, and measures what they use. @module */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { type ProcessEntry, readProcess } from "../../../packages/process/proctable.ts";

const ROOT = new URL("../../../", import.meta.url);

/** A process that has reported its port. */
export interface Running {
  child: ChildProcess;
  port: number;
}

/** The result of one load, and what it cost the server process. Times are in milliseconds. */
export interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  failures: number;
  /** CPU time of the process for each request in microseconds, and its memory afterwards in MiB. */
  cpu: number;
  rss: number;
}

/** Starts a script, and waits until its output contains a port. @throws if the script ends first */
export async function start(script: string, args: string[], portIn: RegExp): Promise<Running> {
  const child = spawn(process.execPath, [new URL(script, ROOT).pathname, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const port = await new Promise<number>((resolve, reject) => {
    const hear = (chunk: Uint8Array) => {
      const [, found] = portIn.exec(said += chunk) ?? [];
      if (found !== undefined) resolve(Number(found));
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("exit", (code) => reject(new Error(`Cannot start ${script}: it ended with ${code}: ${said}`)));
  });
  // Further output is read and dropped. Otherwise the process would block when the pipe is full.
  child.stdout?.removeAllListeners("data").resume();
  child.stderr?.removeAllListeners("data").resume();
  return { child, port };
}

/** Puts load on a port for `ms` milliseconds. */
export async function load({ child, port }: Running, target: number, clients: number, ms: number): Promise<Round> {
  const before = statOf(child).cpuSeconds;
  const args = [new URL("dev/bench/router/load.ts", ROOT).pathname, ...[port, target, clients, ms].map(String)];
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
