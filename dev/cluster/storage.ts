/** Sets up PersistentVolumes, and the folders of the machine over which a real node mounts its own. @module */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ApiAccess, createObject } from "./api.ts";
import { MOUNT_POINTS, VOLUMES_FOLDER } from "./nodeconfig.ts";
import type { Session } from "./state.ts";

export const STORAGE_CLASS = "standard";

/**
 * Creates the default StorageClass. PersistentVolumeClaims are bound without waiting for a Pod, and a volume is deleted
 * with its claim.
 *
 * @param provisioner `kubernetes.io/host-path` is kube-controller-manager itself
 */
export async function createStorageClass(access: ApiAccess, provisioner: string): Promise<void> {
  await createObject(access, "/apis/storage.k8s.io/v1/storageclasses", {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: STORAGE_CLASS, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner,
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
  });
}

/** Creates the folders over which a real node mounts its own, so that volumes are folders of the cluster. */
export function prepareMountPoints(session: Session): void {
  session.update({ mountPoints: makeMountPoints(join(session.stateDir, "node", "mounts")) });
}

/**
 * Changes the command that provisions volumes so that it uses the cluster's own folder in place of the machine's, whose
 * path is fixed in its code. This is only necessary if there will be a real node; without one, KWOK provisions volumes.
 */
export function withOwnVolumes(session: Session, command: string, args: string[]): { command: string; args: string[] } {
  if (!session.record().mountPoints) return { command, args };
  const own = join(session.stateDir, "node", "mounts", VOLUMES_FOLDER);
  const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  return { command: "unshare", args: ["--mount", "sh", "-c", script, "sh", own, VOLUMES_FOLDER, command, ...args] };
}

/**
 * Creates each missing folder, on the machine and below `own`, the cluster's own.
 *
 * @returns the machine's folders to remove later, inner folders first: those created here and those that another
 * cluster has created
 */
function makeMountPoints(own: string): string[] {
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
