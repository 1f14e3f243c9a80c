/** PersistentVolumes: kube-controller-manager's own provisioner for folders of the machine, kept apart per cluster. @module */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { type ApiAccess, createObject } from "./api.ts";
import { makeMountPoints, removeMountPoints } from "./mountpoints.ts";
import { VOLUMES_FOLDER } from "./nodeconfig.ts";
import type { Session } from "./session.ts";

/** Makes the default StorageClass: claims are bound at once, and a volume goes with its claim. */
export async function createStorageClass(access: ApiAccess): Promise<void> {
  await createObject(access, "/apis/storage.k8s.io/v1/storageclasses", {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "kubernetes.io/host-path",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
  });
}

/** Makes the folders over which a real node mounts its own; volumes are then folders of the cluster. */
export function prepareMountPoints(session: Session): void {
  session.update({ mountPoints: makeMountPoints(join(session.stateDir, "node", "mounts")) });
}

/**
 * Lets the command that provisions volumes see the cluster's own folder where it insists on a fixed one of the machine.
 * Without a real node nobody ever writes to a volume, so the fixed one may serve.
 */
export function withOwnVolumes(session: Session, command: string, args: string[]): { command: string; args: string[] } {
  if (!session.record().mountPoints) return { command, args };
  const own = join(session.stateDir, "node", "mounts", VOLUMES_FOLDER);
  const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  return { command: "unshare", args: ["--mount", "sh", "-c", script, "sh", own, VOLUMES_FOLDER, command, ...args] };
}

/** Removes the volumes of clusters without a real node: folders that nobody wrote to. */
export function removeEmptyVolumes(): void {
  if (!existsSync(VOLUMES_FOLDER)) return;
  for (const name of readdirSync(VOLUMES_FOLDER)) {
    try {
      rmdirSync(join(VOLUMES_FOLDER, name));
    } catch {
      // Holds something or belongs to somebody else, so it is not ours.
    }
  }
  removeMountPoints([VOLUMES_FOLDER]);
}
