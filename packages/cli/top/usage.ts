/** What one sandbox uses, read from an answer of metrics.k8s.io. Pure. @module */
import { quantity } from "../../api/objects/quantity.ts";
import type { SandboxInfo } from "../../sdk/options.ts";

export interface Usage {
  name: string;
  namespace: string;
  /** Name of the Sandbox; empty while there is none. */
  sandbox: string;
  /** Processors in use; undefined: nobody knows. */
  cores: number | undefined;
  memoryBytes: number | undefined;
  /** Undefined: none, or nobody knows. */
  memoryLimitBytes: number | undefined;
  /** Why nothing is known; undefined: it is. */
  problem?: string;
}

interface PodMetrics {
  metadata: { namespace: string; name: string };
  containers: { usage: { cpu: string; memory: string } }[];
}

/** Reads it: a Sandbox's Pod has its name. */
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
