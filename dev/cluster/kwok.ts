/** Renders KWOK's configuration: simulated Nodes, and what happens to their Pods and volumes. @module */
import { stringify } from "yaml";

/** The annotation by which KWOK recognises its Nodes. */
const SIMULATED_ANNOTATION = "kwok.x-k8s.io/node";

/** A network of a million addresses, outside the range of Services and of real nodes. */
const POD_SUBNET = "10.64.0.0/12";
export const PODS_PER_NODE = 256;

/** One condition on a resource. A stage applies if all its conditions match. */
interface Match {
  /** A jq path. */
  key: string;
  operator: "Exists" | "DoesNotExist" | "In" | "NotIn";
  values?: string[];
}

const ALIVE: Match = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };

const NOW = "{{ Now | Quote }}";

const CONTAINER = `name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0`;

const RUNNING = `{ running: { startedAt: ${NOW} } }`;

const COMPLETED = `{ terminated: { exitCode: 0, reason: Completed, startedAt: ${NOW}, finishedAt: ${NOW} } }`;

const NODE_READY = `conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: ${NOW}
  lastTransitionTime: ${NOW}
{{ end }}
`;

const POD_RUNNING = `phase: Running
startTime: ${NOW}
conditions:
- { type: PodReadyToStartContainers, status: "True", lastTransitionTime: ${NOW} }
- { type: Initialized, status: "True", lastTransitionTime: ${NOW} }
- { type: ContainersReady, status: "True", lastTransitionTime: ${NOW} }
- { type: Ready, status: "True", lastTransitionTime: ${NOW} }
{{ range .spec.readinessGates }}
- { type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: ${NOW} }
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [{{ range . }}{ ip: {{ . | Quote }} },{{ end }}]
{{ end }}
{{ $name := .metadata.name }}{{ $namespace := .metadata.namespace }}
{{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) .metadata.uid $name $namespace }}
podIP: {{ index . 0 | Quote }}
podIPs: [{{ range . }}{ ip: {{ . | Quote }} },{{ end }}]
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- ${CONTAINER}
  ready: true
  {{ if eq .restartPolicy "Always" }}
  started: true
  state: ${RUNNING}
  {{ else }}
  started: false
  state: ${COMPLETED}
  {{ end }}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- ${CONTAINER}
  ready: true
  started: true
  state: ${RUNNING}
{{ end }}
`;

const POD_SUCCEEDED = `phase: Succeeded
conditions:
- { type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: ${NOW} }
- { type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: ${NOW} }
containerStatuses:
{{ range .spec.containers }}
- ${CONTAINER}
  ready: false
  started: false
  state: ${COMPLETED}
{{ end }}
`;

/**
 * The provisioner of the StorageClass. It is unknown to kube-controller-manager, which therefore does not create the
 * volumes itself.
 */
export const SIMULATED_PROVISIONER = "hookbox.local/simulated";

/**
 * Renders KWOK's configuration file.
 *
 * @param stages what KWOK does with the resources that it manages
 * @param podSubnet the network of the addresses of its Pods
 */
export function renderKwokConfig(stages: unknown[], podSubnet = POD_SUBNET): string {
  const configuration = {
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokConfiguration",
    options: {
      cidr: podSubnet,
      nodeIP: "127.0.0.1",
      manageAllNodes: false,
      manageNodesWithAnnotationSelector: `${SIMULATED_ANNOTATION}=fake`,
      nodeLeaseDurationSeconds: 40,
      podPlayStageParallelism: 16,
      nodePlayStageParallelism: 8,
      nodeLeaseParallelism: 4,
      podsOnNodeSyncParallelism: 4,
      enablePodsOnNodeSyncListPager: false,
      enablePodsOnNodeSyncStreamWatch: true,
    },
  };
  return [configuration, ...stages].map((document) => stringify(document, { lineWidth: 0 })).join("---\n");
}

/**
 * Builds one simulated Node.
 *
 * @param tainted adds a taint, so that only Pods that tolerate it run there; for clusters that also have a real node
 */
export function buildSimulatedNode(index: number, tainted: boolean, now: Date): Record<string, unknown> {
  const time = now.toISOString().replace(/\.\d+/, "");
  const name = `simulated-${index}`;
  const resources = { cpu: "64", memory: "256Gi", "ephemeral-storage": "1Ti", pods: String(PODS_PER_NODE) };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      annotations: { [SIMULATED_ANNOTATION]: "fake" },
      labels: {
        "type": "kwok",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node-role.kubernetes.io/agent": "",
      },
    },
    spec: tainted ? { taints: [{ key: SIMULATED_ANNOTATION, value: "fake", effect: "NoSchedule" }] } : {},
    status: {
      capacity: resources,
      allocatable: resources,
      // The Node is Ready from the start, which saves KWOK a write for each Node.
      conditions: [{
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: "simulated",
        lastHeartbeatTime: time,
        lastTransitionTime: time,
      }],
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }, { type: "Hostname", address: name }],
      nodeInfo: nodeInfo(),
    },
  };
}

function nodeInfo(): Record<string, string> {
  const unknown = ["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "kubeProxyVersion"];
  return {
    ...Object.fromEntries(unknown.map((field) => [field, ""])),
    containerRuntimeVersion: "kwok://",
    kubeletVersion: "kwok",
    operatingSystem: "linux",
    architecture: "amd64",
  };
}

/** Builds a Stage. `action` is what KWOK does with the matching resources of a kind (API group v1). */
function stage(name: string, kind: string, matchExpressions: Match[], action: Record<string, unknown>) {
  const spec = { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions }, ...action };
  return { apiVersion: "kwok.x-k8s.io/v1alpha1", kind: "Stage", metadata: { name }, spec };
}

/** The stages of Nodes and Pods. */
export function nodeAndPodStages(): unknown[] {
  const ready = '.status.conditions.[] | select( .type == "Ready" ) | .status';
  const notReady: Match = { key: ready, operator: "NotIn", values: ["True"] };
  const inPhase = (phase: string): Match => ({ key: ".status.phase", operator: "In", values: [phase] });
  const ofJob: Match = { key: ".metadata.ownerReferences.[].kind", operator: "In", values: ["Job"] };
  const status = (statusTemplate: string) => ({ next: { statusTemplate } });
  return [
    stage("node-ready", "Node", [notReady], status(NODE_READY)),
    stage("pod-running", "Pod", [ALIVE, inPhase("Pending")], status(POD_RUNNING)),
    stage("pod-succeeded", "Pod", [ALIVE, inPhase("Running"), ofJob], status(POD_SUCCEEDED)),
    stage("pod-deleted", "Pod", [{ ...ALIVE, operator: "Exists" }], { next: { delete: true } }),
  ];
}

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
