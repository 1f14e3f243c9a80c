/** Renders KWOK's configuration and the Nodes that it simulates. @module */
import { stringify } from "yaml";

/** The annotation by which KWOK recognises its Nodes. */
export const SIMULATED_ANNOTATION = "kwok.x-k8s.io/node";

/** A network of a million addresses, outside the range of Services and of real nodes. */
const POD_SUBNET = "10.64.0.0/12";
export const PODS_PER_NODE = 256;

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
