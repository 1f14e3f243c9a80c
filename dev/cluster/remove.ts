/** Clears away whatever a cluster left: processes first, then its folder. Takes all it knows from the record. @module */
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeContainerCgroups } from "./cgroups.ts";
import { removeMountPoints } from "./mountpoints.ts";
import { removeBridge } from "./network.ts";
import { endProcesses, processesOf } from "./processes.ts";
import { type ClusterRecord, readRecord, RECORD } from "./state.ts";

/**
 * Ends the cluster in a folder, whole or half dead, and removes the folder.
 *
 * @returns whether there was one
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

/** Everything that a cluster keeps in its folder; the record last, so that a removal cut short can be taken up again. */
const CONTENTS = [
  ...["etcd", "logs", "node", "pki", "runtime", "registry"],
  ...["kubeconfig", "kwok.yaml", "scheduler.yaml", "registry.yaml", `${RECORD}.new`, RECORD],
];

/** Removes what a cluster keeps in its folder, and the folder if that was all. */
export function removeFolder(stateDir: string): void {
  for (const name of CONTENTS) rmSync(join(stateDir, name), { recursive: true, force: true });
  if (existsSync(stateDir) && readdirSync(stateDir).length === 0) rmdirSync(stateDir);
}

/** Removes what a real node leaves outside the cluster's folder once its processes have ended. */
export async function removeRealNode(stateDir: string, { realNode }: ClusterRecord): Promise<void> {
  if (!realNode) return;
  await removeContainerCgroups(join(stateDir, "node", "mounts", "run", "containerd"));
}
