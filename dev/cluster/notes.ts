/** Remembers this user's clusters outside their folders, so that a start clears away what a lost one of its checkout left. @module */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./binaries.ts";
import { isRunning } from "./processes.ts";
import { endCluster, removeFolder } from "./remove.ts";
import { type ClusterRecord, readRecord, writeRecord } from "./state.ts";

/** The root of the checkout that this file is in. */
const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));

interface Note {
  stateDir: string;
  /** Of where the cluster was started. Absent in notes of older checkouts. */
  checkout?: string;
  /** As of the last change; where the folder has a record of its own, that one counts. */
  record: ClusterRecord;
}

/** Where the notes on this user's clusters are kept. */
export function notesFolder(): string {
  return join(cacheFolder(), "clusters");
}

/** Writes down a cluster, in its folder and outside of it: whoever changes the record does it by this. */
export function saveCluster(stateDir: string, record: ClusterRecord, folder = notesFolder()): void {
  writeRecord(stateDir, record);
  noteCluster(folder, stateDir, record);
}

/**
 * Notes down a cluster.
 *
 * @param folder where such notes are kept, one file per cluster
 * @param checkout the root of the checkout that it belongs to
 */
export function noteCluster(folder: string, stateDir: string, record: ClusterRecord, checkout = CHECKOUT): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${record.id}.json`);
  const note: Note = { stateDir, checkout, record };
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/**
 * Removes each noted cluster of this checkout whose owner is gone or whose folder was deleted under it, and the notes of
 * all that ended. Those of another checkout are its own to remove, as long as it exists.
 */
export async function sweepClusters(folder: string, progress: (line: string) => void): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const path = join(folder, name);
    if (await sweep(JSON.parse(readFileSync(path, "utf8")), progress)) rmSync(path, { force: true });
  }
}

/** Returns whether the cluster is gone. */
async function sweep({ stateDir, checkout, record }: Note, progress: (line: string) => void): Promise<boolean> {
  if (checkout !== undefined && checkout !== CHECKOUT && existsSync(checkout)) return false;
  const found = readRecord(stateDir);
  const isThere = found?.id === record.id;
  // It was changed since it was noted, if somebody has written one alone.
  const { owner, processes } = isThere ? found : record;
  if (isThere && (owner === undefined || isRunning(owner))) return false;
  if (isThere || processes.some(isRunning)) progress(`clearing away what is left of a cluster in ${stateDir} …`);
  await endCluster(stateDir, isThere ? found : record);
  if (isThere || !found) removeFolder(stateDir);
  return true;
}
