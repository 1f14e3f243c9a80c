/** PersistentVolumes: kube-controller-manager's own provisioner for folders of the machine, kept apart per cluster. @module */
import { join } from "node:path";
import { type ApiAccess, createObject } from "./api.ts";
import { makeMountPoints } from "./mountpoints.ts";
import { VOLUMES_FOLDER } from "./nodeconfig.ts";
import type { Session } from "./session.ts";

export const STORAGE_CLASS = "standard";

/**
 * Makes the default StorageClass: claims are bound at once, and a volume goes with its claim.
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

/** Makes the folders over which a real node mounts its own; volumes are then folders of the cluster. */
export function prepareMountPoints(session: Session): void {
  session.update({ mountPoints: makeMountPoints(join(session.stateDir, "node", "mounts")) });
}

/**
 * Lets the command that provisions volumes see the cluster's own folder where it insists on a fixed one of the machine,
 * if there is to be a real node; without one, KWOK provisions volumes.
 */
export function withOwnVolumes(session: Session, command: string, args: string[]): { command: string; args: string[] } {
  if (!session.record().mountPoints) return { command, args };
  const own = join(session.stateDir, "node", "mounts", VOLUMES_FOLDER);
  const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  return { command: "unshare", args: ["--mount", "sh", "-c", script, "sh", own, VOLUMES_FOLDER, command, ...args] };
}
