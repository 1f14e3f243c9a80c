/** The API for E2B's SDKs on a local cluster, with a secret that the router shares. @module */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { apiKeyOf, keyHash } from "../../../packages/api/e2b/identity.ts";
import { KEYS_SECRET, RIGHTS } from "../../../packages/api/e2b/objects.ts";
import { answerError, type Api, isOk, pathOf } from "../../../packages/kube/api.ts";
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

/** Makes a namespace a project of E2B's clients. @returns an API key of it @throws if the API server refuses */
export async function createKey(api: Api, namespace: string): Promise<string> {
  const key = apiKeyOf(namespace, randomBytes(24));
  const entry = { sha256: keyHash(key), rights: RIGHTS, createdAt: new Date().toISOString() };
  const data = { bench: Buffer.from(JSON.stringify(entry)).toString("base64") };
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name: KEYS_SECRET, namespace }, data };
  const answer = await api.send({ method: "POST", path: pathOf({ resource: "secrets", namespace }), body });
  if (!isOk(answer)) throw answerError(`create Secret ${KEYS_SECRET}`, answer);
  return key;
}
