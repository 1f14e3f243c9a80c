/** Folders of the machine that a real node mounts its own over: makes them, and removes those it made. @module */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { MOUNT_POINTS } from "./nodeconfig.ts";

/**
 * Makes each folder, on the machine and the cluster's own below `own`, where it is not there yet.
 *
 * @returns the machine's folders to remove later, inner ones first: those it made and those another cluster made
 */
export function makeMountPoints(own: string): string[] {
  const ours: string[] = [];
  for (const folder of MOUNT_POINTS) {
    mkdirSync(join(own, folder), { recursive: true });
    if (isMountedSomewhere(folder)) ours.push(folder);
    for (let missing = folder; !existsSync(missing); missing = dirname(missing)) ours.push(missing);
    mkdirSync(folder, { recursive: true });
  }
  return ours.sort((a, b) => b.length - a.length);
}

/** Removes folders, but neither what is not empty nor what another cluster has something mounted over. */
export function removeMountPoints(folders: string[]): void {
  for (const folder of folders) {
    const removable = existsSync(folder) && readdirSync(folder).length === 0 && !isMountedSomewhere(folder);
    if (removable) rmdirSync(folder);
  }
}

/** Looks into every mount namespace: removing a folder would silently undo the mounts over it in all of them. */
function isMountedSomewhere(folder: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => mountsOf(pid).includes(` ${folder} `));
}

function mountsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, "utf8");
  } catch {
    return "";
  }
}
