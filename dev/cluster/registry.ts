/** Remembers where this user's clusters keep their state, so that any start clears away what an abandoned one left. @module */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRunning } from "./processes.ts";
import { removeCluster } from "./remove.ts";
import { readRecord } from "./state.ts";

/**
 * Notes down a cluster.
 *
 * @param folder where such notes are kept, one file per cluster
 */
export function noteCluster(folder: string, id: string, stateDir: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, id), stateDir);
}

/** Removes each noted cluster whose owner is gone, and the notes of those that are no more. */
export async function sweepClusters(folder: string, progress: (line: string) => void): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const id of readdirSync(folder)) {
    const note = join(folder, id);
    const stateDir = readFileSync(note, "utf8");
    const record = readRecord(stateDir);
    const alive = record?.id === id;
    const abandoned = alive && record.owner !== undefined && !isRunning(record.owner);
    if (abandoned) {
      progress(`clearing away the cluster in ${stateDir}, which process ${record.owner?.pid} left …`);
      await removeCluster(stateDir);
    }
    if (abandoned || !alive) rmSync(note, { force: true });
  }
}
