/** Child processes of the integration suite: started on this runtime, logged to a file, ended by their own ids. @module */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A process that was started, and how to end it: SIGTERM, and SIGKILL after ten seconds. */
export interface Child {
  pid: number;
  stop(): Promise<void>;
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** A run that is interrupted ends without its teardown. */
const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/**
 * Runs a script of this repository with the Node that runs the tests; output goes to `<logs>/<name>.log`.
 *
 * @param env added to this process's environment
 */
export function startChild(name: string, args: string[], logs: string, env: Record<string, string> = {}): Child {
  const output = openSync(join(logs, `${name}.log`), "a");
  const stdio: StdioOptions = ["ignore", output, output];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
  if (child.pid === undefined) throw new Error(`Cannot start ${name}: ${args.join(" ")}`);
  running.add(child);
  child.once("exit", () => running.delete(child));
  const kill = (signal: "SIGTERM" | "SIGKILL") => ended(child, signal);
  return { pid: child.pid, kill, stop: () => kill("SIGTERM") };
}

function ended(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    // Only ends what hangs: a keeper that is killed does not give its Lease back, which tests look for.
    const last = setTimeout(() => child.kill("SIGKILL"), 60_000);
    child.once("exit", () => {
      clearTimeout(last);
      resolve();
    });
    child.kill(signal);
  });
}

/** Ends a process of this suite that another worker has started; one that is gone already is fine. */
export async function endProcess(pid: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      process.kill(pid, tries === 0 ? "SIGTERM" : 0);
    } catch {
      return;
    }
    await sleep(50);
  }
  process.kill(pid, "SIGKILL");
}
