/** kubectl for tests: run it, read objects, wait until something holds. @module */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { PATIENCE_MS } from "../patience.ts";

/** Which kubectl, and which cluster. */
export interface Kubectl {
  kubectl: string;
  kubeconfig: string;
}

/** What a command printed. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl whatever comes of it. */
export function attempt({ kubectl, kubeconfig }: Kubectl, args: string[], input = ""): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(kubectl, ["--kubeconfig", kubeconfig, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    const out = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (part) => out.stdout += part);
    child.stderr.setEncoding("utf8").on("data", (part) => out.stderr += part);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? -1, ...out }));
    // What ends without reading all of it says why by its exit code.
    child.stdin.on("error", () => {}).end(input);
  });
}

/** Runs kubectl and returns what it printed. @throws {Error} with its own words if it fails */
export async function run(cluster: Kubectl, args: string[], input = ""): Promise<string> {
  const { code, stdout, stderr } = await attempt(cluster, args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr || stdout}`);
  return stdout;
}

/** Calls `look` until `holds` is true of what it returns, and returns that. @throws {Error} with the last look, in time */
export async function until<T>(look: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  let last = await look();
  while (!holds(last)) {
    if (Date.now() > deadline) {
      throw new Error(`Waited ${PATIENCE_MS / 1000} s in vain; last seen: ${JSON.stringify(last, null, 1)}`);
    }
    await sleep(100);
    last = await look();
  }
  return last;
}
