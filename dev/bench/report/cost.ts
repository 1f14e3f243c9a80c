/** Computes the cost of one object. Defines which requests and processes count as the implementation's own. @module */
import type { RequestRate, Row } from "./combine.ts";

/** The cost of each object that was asked for; memory is the total. Undefined: not measured. */
export interface Cost {
  /** Requests that change something. */
  writes: number | undefined;
  reads: number | undefined;
  /** CPU milliseconds of the implementation's own processes. */
  cpu: number | undefined;
  /** CPU milliseconds of the cluster's processes: neither the implementation's own nor the load's. */
  clusterCPU: number | undefined;
  /** MiB: the sum of the maximum of each of its own processes. */
  memory: number | undefined;
}

const WRITES = ["create", "update", "patch", "apply", "delete", "deletecollection"];
const READS = ["get", "list", "watch"];
/** The load, and processes that run Pods in any cluster. */
const OTHERS = ["load", "kube-apiserver", "kube-scheduler", "kwok", "kubelet", "kube-controller-manager", "kubectl"];
const HOOKS = ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool", "hooks"];
const OURS = [...HOOKS, "engine", "engine 2", "keeper", "binder", "peer"];

/**
 * Computes the cost from a row. If the client of a request is not known, the request counts, because it may be the
 * implementation's.
 */
export function costOf({ requests, processes }: Pick<Row, "requests" | "processes">): Cost {
  const ours = processes.filter(({ name }) => isOurs(name));
  const cluster = processes.filter(({ name }) => !isOurs(name) && name !== "load");
  const asked = (verbs: string[]) =>
    sumOf(requests, (request) => isCounted(request) && verbs.includes(request.verb) ? request.perObject : 0);
  return {
    writes: asked(WRITES),
    reads: asked(READS),
    cpu: sumOf(ours, ({ cpuMsPerObject }) => cpuMsPerObject),
    clusterCPU: sumOf(cluster, ({ cpuMsPerObject }) => cpuMsPerObject),
    memory: sumOf(ours, ({ peakMiB }) => peakMiB),
  };
}

/**
 * Tells whether a process with this name is part of the implementation: a hook, Metacontroller, the keeper, the binder,
 * or the Go controller.
 */
export function isOurs(name: string): boolean {
  return OURS.includes(name);
}

function isCounted({ client }: RequestRate): boolean {
  return client === undefined || !OTHERS.includes(client);
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + value(item), 0);
}
