/**
 * Keeps a note about each cluster of this user, outside of the cluster's folder. With the notes, the next start can
 * remove the abandoned clusters of its checkout. @module
 */
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
  /** The root of the checkout that started the cluster. Absent in notes of older checkouts. */
  checkout?: string;
  /** The record as of the last change. If the cluster's folder has a record too, that one counts. */
  record: ClusterRecord;
}

/** Returns the folder of the notes on this user's clusters. */
export function notesFolder(): string {
  return join(cacheFolder(), "clusters");
}

/** Writes the record of a cluster into its folder and into the note. To change a record, always use this function. */
export function saveCluster(stateDir: string, record: ClusterRecord, folder = notesFolder()): void {
  writeRecord(stateDir, record);
  noteCluster(folder, stateDir, record);
}

/**
 * Writes the note of a cluster.
 *
 * @param folder the folder of the notes; each cluster has a file in it
 * @param checkout the root of the checkout that started the cluster
 */
export function noteCluster(folder: string, stateDir: string, record: ClusterRecord, checkout = CHECKOUT): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${record.id}.json`);
  const note: Note = { stateDir, checkout, record };
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/**
 * Removes the clusters of this checkout whose owner has ended or whose folder was deleted, and the notes of clusters
 * that have ended. Does not touch the clusters of another checkout, as long as that checkout exists.
 */
export async function removeAbandonedClusters(folder: string, progress: (line: string) => void): Promise<void> {
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
  // The record in the folder can be newer than the note, if the process was killed between the two writes.
  const { owner, processes } = isThere ? found : record;
  if (isThere && (owner === undefined || isRunning(owner))) return false;
  if (isThere || processes.some(isRunning)) progress(`clearing away what is left of a cluster in ${stateDir} …`);
  await endCluster(stateDir, isThere ? found : record);
  if (isThere || !found) removeFolder(stateDir);
  return true;
}
