/** Reads usage from an answer of metrics.k8s.io. Pure. @module */
import type { SandboxInfo } from "../../sdk/options.ts";
import type { Usage } from "./usage.ts";

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

const FACTORS: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Reads a quantity of Kubernetes: 250m, 1536Ki; NaN if it is none. */
export function quantity(text: string): number {
  const [, number, unit = ""] = /^([0-9.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  return Number(number) * (FACTORS[unit] ?? NaN);
}
