/** Defines how simulated Nodes and Pods start, complete and are deleted, as KWOK stages. @module */

/** One condition on a resource. A stage applies if all its conditions match. */
export interface Match {
  /** A jq path. */
  key: string;
  operator: "Exists" | "DoesNotExist" | "In" | "NotIn";
  values?: string[];
}

export const ALIVE: Match = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };

/** Builds a Stage. `action` is what KWOK does with the matching resources of a kind (API group v1). */
export function stage(name: string, kind: string, matchExpressions: Match[], action: Record<string, unknown>) {
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
