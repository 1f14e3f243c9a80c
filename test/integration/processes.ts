/** Child processes of the integration suite: started on this runtime, logged to a file, ended by their own ids. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A process that was started, and how to end it: SIGTERM, and SIGKILL after ten seconds. */
export interface Child {
  pid: number;
  stop(): Promise<void>;
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Runs a script of this repository with the Node that runs the tests; output goes to `<logs>/<name>.log`. */
export function startChild(name: string, args: string[], logs: string): Child {
  const output = openSync(join(logs, `${name}.log`), "a");
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", output, output] });
  if (child.pid === undefined) throw new Error(`Cannot start ${name}: ${args.join(" ")}`);
  const kill = (signal: "SIGTERM" | "SIGKILL") => ended(child, signal);
  return { pid: child.pid, kill, stop: () => kill("SIGTERM") };
}

/** Returns a port of loopback that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

function ended(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const last = setTimeout(() => child.kill("SIGKILL"), 10_000);
    child.once("exit", () => {
      clearTimeout(last);
      resolve();
    });
    child.kill(signal);
  });
}
