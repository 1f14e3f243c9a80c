/**
 * Creates the folders of the machine over which a real node mounts its own, and removes those that it has created.
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { MOUNT_POINTS } from "./nodeconfig.ts";

/**
 * Creates each missing folder, on the machine and below `own`, the cluster's own.
 *
 * @returns the machine's folders to remove later, inner folders first: those created here and those that another
 * cluster has created
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

/** Removes folders, except those that are not empty and those over which another cluster has mounted something. */
export function removeMountPoints(folders: string[]): void {
  for (const folder of folders) {
    const removable = existsSync(folder) && readdirSync(folder).length === 0 && !isMountedSomewhere(folder);
    if (removable) rmdirSync(folder);
  }
}

/**
 * Checks every mount namespace: if a folder were removed, the mounts over it would silently disappear in all of them.
 */
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
