/** Defines how KWOK provisions volumes if all nodes are simulated: objects without storage. @module */
import { ALIVE, type Match, stage } from "./kwokstages.ts";

/**
 * The provisioner of the StorageClass. It is unknown to kube-controller-manager, which therefore does not create the
 * volumes itself.
 */
export const SIMULATED_PROVISIONER = "hookbox.local/simulated";

/**
 * Stages that create a volume for each PersistentVolumeClaim of a class, and delete released volumes.
 * kube-controller-manager binds them.
 */
export function volumeStages(storageClass: string): unknown[] {
  const ofClass: Match = { key: ".spec.storageClassName", operator: "In", values: [storageClass] };
  const unbound: Match = { key: ".spec.volumeName", operator: "DoesNotExist" };
  const released: Match = { key: ".status.phase", operator: "In", values: ["Released"] };
  const claim = { steps: [{ apply: { template: volumeTemplate(storageClass) } }] };
  return [
    stage("claim-provisioned", "PersistentVolumeClaim", [ALIVE, ofClass, unbound], claim),
    stage("volume-deleted", "PersistentVolume", [ALIVE, ofClass, released], { steps: [{ delete: true }] }),
  ];
}

function volumeTemplate(storageClass: string): string {
  return `apiVersion: v1
kind: PersistentVolume
metadata:
  name: pvc-{{ .metadata.uid }}
  annotations:
    pv.kubernetes.io/provisioned-by: ${SIMULATED_PROVISIONER}
spec:
  storageClassName: ${storageClass}
  persistentVolumeReclaimPolicy: Delete
  accessModes:
  {{ YAML .spec.accessModes 1 }}
  capacity:
    storage: {{ .spec.resources.requests.storage | Quote }}
  volumeMode: {{ or .spec.volumeMode "Filesystem" }}
  claimRef:
    apiVersion: v1
    kind: PersistentVolumeClaim
    namespace: {{ .metadata.namespace | Quote }}
    name: {{ .metadata.name | Quote }}
    uid: {{ .metadata.uid | Quote }}
  hostPath:
    path: /simulated
`;
}
