/** The command as a process on a cluster: started, listened to, interrupted. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { run } from "../../integration/kubectl.ts";
import type { Namespace } from "../../integration/namespace.ts";

export const MAIN = fileURLToPath(new URL("../../../packages/cli/main.ts", import.meta.url));

/** Makes a kubeconfig whose context has the namespace, so that nobody has to type it. */
export async function kubeconfigOf(ns: Namespace, folder: string): Promise<string> {
  const kubeconfig = join(folder, "kubeconfig");
  copyFileSync(ns.cluster.kubeconfig, kubeconfig);
  await run({ ...ns.cluster, kubeconfig }, ["config", "set-context", "--current", `--namespace=${ns.name}`]);
  return kubeconfig;
}

/** A command that runs. */
export interface Running {
  child: ChildProcess;
  /** What it has written so far. */
  said: { stdout: string; stderr: string };
  /** Resolves with its exit code when it has ended; -1: by a signal. */
  ended: Promise<number>;
}

/** Starts it; it goes with the test. */
export function startHookbox(kubeconfig: string, ...args: string[]): Running {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part) => said.stdout += part);
  child.stderr.setEncoding("utf8").on("data", (part) => said.stderr += part);
  const ended = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? -1)));
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, said, ended };
}

/** Runs it to its end. */
export async function hookbox(kubeconfig: string, ...args: string[]) {
  const { said, ended } = startHookbox(kubeconfig, ...args);
  return { code: await ended, ...said };
}
