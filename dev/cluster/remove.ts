/** Clears away whatever a cluster left: processes first, then its folder. Takes all it knows from the record. @module */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeContainerCgroups } from "./cgroups.ts";
import { removeMountPoints } from "./mountpoints.ts";
import { removeBridge } from "./network.ts";
import { endProcesses } from "./processes.ts";
import { type ClusterRecord, readRecord, RECORD } from "./state.ts";

/**
 * Ends the cluster in a folder, whole or half dead, and removes the folder.
 *
 * @returns whether there was one
 */
export async function removeCluster(stateDir: string): Promise<boolean> {
  const record = readRecord(stateDir);
  if (!record) return false;
  await endProcesses(record.processes);
  await removeRealNode(stateDir, record);
  if (record.mountPoints) removeMountPoints(record.mountPoints);
  removeFolder(stateDir);
  return true;
}

/** Removes the record last, so that a removal that is cut short can be taken up again. */
function removeFolder(stateDir: string): void {
  for (const name of readdirSync(stateDir).filter((name) => name !== RECORD)) {
    rmSync(join(stateDir, name), { recursive: true, force: true });
  }
  rmSync(stateDir, { recursive: true, force: true });
}

/** Removes what a real node leaves outside the cluster's folder once its processes have ended. */
export async function removeRealNode(stateDir: string, { realNode }: ClusterRecord): Promise<void> {
  if (!realNode) return;
  await removeBridge(realNode.busybox, realNode.bridge);
  await removeContainerCgroups(join(stateDir, "node", "mounts", "run", "containerd"));
}
