/** KWOK's configuration and the Node objects it simulates. Pure: starts and sends nothing. @module */
import { stringify } from "yaml";

/** The annotation by which KWOK knows its Nodes. */
export const SIMULATED_ANNOTATION = "kwok.x-k8s.io/node";

/** Beyond the Service range and beyond what real nodes use; a million addresses. */
const POD_SUBNET = "10.64.0.0/12";
export const PODS_PER_NODE = 256;

/** Renders KWOK's configuration file: what it manages and how Nodes and Pods come up, complete and go. */
export function renderKwokConfig(): string {
  const configuration = {
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokConfiguration",
    options: {
      cidr: POD_SUBNET,
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
  const documents = [configuration, nodeReady(), podRunning(), podSucceeded(), podDeleted()];
  return documents.map((document) => stringify(document, { lineWidth: 0 })).join("---\n");
}

interface Match {
  key: string;
  operator: "Exists" | "DoesNotExist" | "In" | "NotIn";
  values?: string[];
}

function stage(name: string, kind: "Node" | "Pod", matchExpressions: Match[], next: Record<string, unknown>) {
  const spec = { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions }, next };
  return { apiVersion: "kwok.x-k8s.io/v1alpha1", kind: "Stage", metadata: { name }, spec };
}

const READY_STATUS = '.status.conditions.[] | select( .type == "Ready" ) | .status';
const ALIVE: Match = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };
const NOW = "{{ Now | Quote }}";

function nodeReady() {
  return stage("node-ready", "Node", [{ key: READY_STATUS, operator: "NotIn", values: ["True"] }], {
    statusTemplate: [
      "conditions:",
      "{{ range NodeConditions }}",
      `- { type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }},` +
      ` message: {{ .message | Quote }}, lastHeartbeatTime: ${NOW}, lastTransitionTime: ${NOW} }`,
      "{{ end }}",
    ].join("\n"),
  });
}

function podRunning() {
  const matches: Match[] = [ALIVE, { key: ".status.phase", operator: "In", values: ["Pending"] }];
  return stage("pod-running", "Pod", matches, {
    statusTemplate: [
      "phase: Running",
      `startTime: ${NOW}`,
      "{{ $node := .spec.nodeName }}",
      "conditions:",
      ...["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"].map(condition),
      "{{ range .spec.readinessGates }}",
      condition("{{ .conditionType }}"),
      "{{ end }}",
      "{{ with NodeIPsWith $node }}",
      "hostIP: {{ index . 0 | Quote }}",
      "hostIPs: [{{ range . }}{ ip: {{ . | Quote }} },{{ end }}]",
      "{{ end }}",
      '{{ with PodIPsWith $node ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" )' +
      ' ( or .metadata.namespace "" ) }}',
      "podIP: {{ index . 0 | Quote }}",
      "podIPs: [{{ range . }}{ ip: {{ . | Quote }} },{{ end }}]",
      "{{ end }}",
      ...containers("initContainerStatuses", ".spec.initContainers", [
        '{{ if eq .restartPolicy "Always" }}',
        runningState(),
        "{{ else }}",
        finishedState(true),
        "{{ end }}",
      ]),
      ...containers("containerStatuses", ".spec.containers", [runningState()]),
    ].join("\n"),
  });
}

function podSucceeded() {
  const matches: Match[] = [
    ALIVE,
    { key: ".status.phase", operator: "In", values: ["Running"] },
    { key: ".metadata.ownerReferences.[].kind", operator: "In", values: ["Job"] },
  ];
  const lines = ["phase: Succeeded", ...containers("containerStatuses", ".spec.containers", [finishedState(false)])];
  return stage("pod-succeeded", "Pod", matches, { statusTemplate: lines.join("\n") });
}

function podDeleted() {
  return stage("pod-deleted", "Pod", [{ ...ALIVE, operator: "Exists" }], { delete: true });
}

function condition(type: string): string {
  return `- { type: "${type}", status: "True", lastTransitionTime: ${NOW} }`;
}

function containers(field: string, list: string, state: string[]): string[] {
  const names = '- name: {{ .name | Quote }}\n  image: {{ .image | Quote }}\n  imageID: ""\n  restartCount: 0';
  return [`{{ with ${list} }}`, `${field}:`, "{{ range . }}", names, ...state, "{{ end }}", "{{ end }}"];
}

function runningState(): string {
  return `  ready: true\n  started: true\n  state: { running: { startedAt: ${NOW} } }`;
}

function finishedState(ready: boolean): string {
  const times = `startedAt: ${NOW}, finishedAt: ${NOW}`;
  return `  ready: ${ready}\n  started: false\n  state: { terminated: { exitCode: 0, reason: Completed, ${times} } }`;
}

/**
 * Builds one simulated Node.
 *
 * @param tainted keeps Pods away that neither tolerate nor select it, for clusters that have a real node too
 */
export function buildSimulatedNode(index: number, tainted: boolean): Record<string, unknown> {
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
