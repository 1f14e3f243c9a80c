/**
 * Removes everything that a cluster has left: its processes first, then its folder. It uses only the cluster's record.
 * @module
 */
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeContainerCgroups } from "./cgroups.ts";
import { removeMountPoints } from "./mountpoints.ts";
import { removeBridge } from "./network.ts";
import { endProcesses, processesOf } from "./processes.ts";
import { type ClusterRecord, readRecord, RECORD } from "./state.ts";

/**
 * Ends the cluster in a folder, even if some of its processes have ended, and removes the folder.
 *
 * @returns whether there was a cluster
 */
export async function removeCluster(stateDir: string): Promise<boolean> {
  const record = readRecord(stateDir);
  if (!record) return false;
  await endCluster(stateDir, record);
  removeFolder(stateDir);
  return true;
}

/** Ends a cluster's processes and removes what it has outside its folder. The folder may already have been deleted. */
export async function endCluster(stateDir: string, record: ClusterRecord): Promise<void> {
  await endProcesses(record.processes);
  // A process may have started another one just before it ended.
  for (let left = processesOf(record.id); left.length > 0; left = processesOf(record.id)) await endProcesses(left);
  await removeRealNode(stateDir, record);
  if (record.network) await removeBridge(record.network.ip, record.network.bridge);
  if (record.mountPoints) removeMountPoints(record.mountPoints);
}

/**
 * Everything that a cluster keeps in its folder. The record comes last, so that an interrupted removal can be
 * continued.
 */
const CONTENTS = [
  ...["etcd", "logs", "node", "pki", "runtime", "registry"],
  ...["kubeconfig", "kwok.yaml", "scheduler.yaml", "registry.yaml", `${RECORD}.new`, RECORD],
];

/** Removes the files of a cluster from its folder. If nothing else is in the folder, removes the folder too. */
export function removeFolder(stateDir: string): void {
  for (const name of CONTENTS) rmSync(join(stateDir, name), { recursive: true, force: true });
  if (existsSync(stateDir) && readdirSync(stateDir).length === 0) rmdirSync(stateDir);
}

/** Removes what a real node has left outside the cluster's folder, after its processes have ended. */
export async function removeRealNode(stateDir: string, { realNode }: ClusterRecord): Promise<void> {
  if (!realNode) return;
  await removeContainerCgroups(join(stateDir, "node", "mounts", "run", "containerd"));
}
