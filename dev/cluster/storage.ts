/**
 * Sets up PersistentVolumes. kube-controller-manager's own provisioner creates folders of the machine; each cluster has
 * its own. @module
 */
import { join } from "node:path";
import { type ApiAccess, createObject } from "./api.ts";
import { makeMountPoints } from "./mountpoints.ts";
import { VOLUMES_FOLDER } from "./nodeconfig.ts";
import type { Session } from "./session.ts";

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
