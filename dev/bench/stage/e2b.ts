/** The API for E2B's SDKs on a local cluster, with a secret that the router shares. @module */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Cluster } from "../../cluster/cluster.ts";
import { freePorts } from "../../cluster/ports.ts";
import { type ProcessRecord, startProcess, untilAnswering } from "../../cluster/processes.ts";

const MAIN = fileURLToPath(new URL("../../../packages/e2b/main.ts", import.meta.url));

/** Writes the secret that the API and the router share. @returns path of the file */
export function writeSecret(folder: string): string {
  const file = join(folder, "e2b-secret");
  writeFileSync(file, randomBytes(32).toString("hex"));
  return file;
}

/** Starts the API. @param started gets the process @returns its URL */
export async function startE2B(
  { kubeconfig }: Cluster,
  folder: string,
  secretFile: string,
  started: ProcessRecord[],
  signal: AbortSignal,
): Promise<string> {
  const [port, health] = await freePorts(2);
  const ports = ["--host", "127.0.0.1", "--port", `${port}`, "--health-port", `${health}`];
  const record = startProcess({
    name: "e2b",
    command: process.execPath,
    args: [MAIN, "--kubeconfig", kubeconfig, "--secret-file", secretFile, ...ports],
    logFile: join(folder, "logs", "e2b.log"),
  });
  started.push(record);
  await untilAnswering(`http://127.0.0.1:${health}/readyz`, record, signal);
  return `http://127.0.0.1:${port}`;
}
