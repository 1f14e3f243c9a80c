/** Clears away whatever a cluster left: processes first, then its folder. Takes all it knows from the record. @module */
import { rmSync } from "node:fs";
import { endProcesses } from "./processes.ts";
import { readRecord } from "./state.ts";

/**
 * Ends the cluster in a folder, whole or half dead, and removes the folder.
 *
 * @returns whether there was one
 */
export async function removeCluster(stateDir: string): Promise<boolean> {
  const record = readRecord(stateDir);
  if (!record) return false;
  await endProcesses(record.processes);
  rmSync(stateDir, { recursive: true, force: true });
  return true;
}
