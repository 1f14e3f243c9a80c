/** Clears away whatever a cluster left: processes first, then its folder. Takes all it knows from the record. @module */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { removeContainerCgroups } from "./cgroups.ts";
import { removeMountPoints } from "./mountpoints.ts";
import { removeBridge } from "./network.ts";
import { endProcesses } from "./processes.ts";
import { type ClusterRecord, readRecord } from "./state.ts";
import { removeEmptyVolumes } from "./storage.ts";

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
  else removeEmptyVolumes();
  rmSync(stateDir, { recursive: true, force: true });
  return true;
}

/** Removes what a real node leaves outside the cluster's folder once its processes have ended. */
export async function removeRealNode(stateDir: string, { realNode }: ClusterRecord): Promise<void> {
  if (!realNode) return;
  await removeBridge(realNode.busybox, realNode.bridge);
  await removeContainerCgroups(join(stateDir, "node", "mounts", "run", "containerd"));
}
