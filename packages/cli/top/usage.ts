/** Reads the usage of sandboxes from a response of metrics.k8s.io. @module */
import { quantity } from "../../api/objects/quantity.ts";
import type { SandboxInfo } from "../../sdk/options.ts";

export interface Usage {
  name: string;
  namespace: string;
  /** Name of the Sandbox; empty while there is none. */
  sandbox: string;
  /** CPUs in use; undefined if it is not known. */
  cores: number | undefined;
  memoryBytes: number | undefined;
  /** Undefined if there is no limit, or it is not known. */
  memoryLimitBytes: number | undefined;
  /** Why the usage is not known; absent if it is known. */
  problem?: string;
}

interface PodMetrics {
  metadata: { namespace: string; name: string };
  containers: { usage: { cpu: string; memory: string } }[];
}

/** Converts the response. A Sandbox's Pod has the Sandbox's name. */
export function usageOfMetrics(body: unknown, sandboxes: readonly SandboxInfo[]): Usage[] {
  const pods = new Map((body as { items: PodMetrics[] }).items.map((pod) => {
    return [`${pod.metadata.namespace}/${pod.metadata.name}`, pod];
  }));
  return sandboxes.map(({ name, namespace, sandboxName = "" }) => {
    const pod = pods.get(`${namespace}/${sandboxName}`);
    const ours = { name, namespace, sandbox: sandboxName, memoryLimitBytes: undefined };
    if (!pod) return { ...ours, cores: undefined, memoryBytes: undefined, problem: "no metrics yet" };
    const sum = (key: "cpu" | "memory") => pod.containers.reduce((all, { usage }) => all + quantity(usage[key]), 0);
    return { ...ours, cores: sum("cpu"), memoryBytes: sum("memory") };
  });
}
