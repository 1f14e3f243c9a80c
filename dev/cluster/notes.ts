/** Remembers this user's clusters outside their folders, so that any start clears away what a lost one left. @module */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./binaries.ts";
import { isRunning } from "./processes.ts";
import { endCluster, removeFolder } from "./remove.ts";
import { type ClusterRecord, readRecord } from "./state.ts";

interface Note {
  stateDir: string;
  record: ClusterRecord;
}

/** Where the notes on this user's clusters are kept. */
export function notesFolder(): string {
  return join(cacheFolder(), "clusters");
}

/**
 * Notes down a cluster.
 *
 * @param folder where such notes are kept, one file per cluster
 */
export function noteCluster(folder: string, stateDir: string, record: ClusterRecord): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${record.id}.json`);
  const note: Note = { stateDir, record };
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Removes each noted cluster whose owner is gone or whose folder was deleted under it, and the notes of all that ended. */
export async function sweepClusters(folder: string, progress: (line: string) => void): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const path = join(folder, name);
    if (await sweep(JSON.parse(readFileSync(path, "utf8")), progress)) rmSync(path, { force: true });
  }
}

/** Returns whether the cluster is gone. */
async function sweep({ stateDir, record }: Note, progress: (line: string) => void): Promise<boolean> {
  const found = readRecord(stateDir);
  const isThere = found?.id === record.id;
  const ownerIsGone = record.owner !== undefined && !isRunning(record.owner);
  if (isThere && !ownerIsGone) return false;
  if (isThere || record.processes.some(isRunning)) progress(`clearing away what is left of a cluster in ${stateDir} …`);
  await endCluster(stateDir, record);
  if (isThere || !found) removeFolder(stateDir);
  return true;
}
