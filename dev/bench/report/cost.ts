/** What one object cost: whose requests and which processes count as the implementation's own. Pure. @module */
import type { RequestRate, Row } from "./combine.ts";

/** Each for one object that was asked for, but memory; undefined where it was not measured. */
export interface Cost {
  /** Requests that change something. */
  writes: number | undefined;
  reads: number | undefined;
  /** Milliseconds of its own processes. */
  cpu: number | undefined;
  /** Milliseconds of the cluster's: neither its own nor the load's. */
  clusterCPU: number | undefined;
  /** MiB: the most of each of its own processes, added up. */
  memory: number | undefined;
}

const WRITES = ["create", "update", "patch", "apply", "delete", "deletecollection"];
const READS = ["get", "list", "watch"];
/** The load, and what runs Pods in any cluster. */
const OTHERS = ["load", "kube-apiserver", "kube-scheduler", "kwok", "kubelet", "kube-controller-manager", "kubectl"];
const HOOKS = ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool", "hooks"];
const OURS = [...HOOKS, "engine", "engine 2", "keeper", "binder", "peer"];

/** Reads the cost out of a row. A request whose client is not known counts: it may be anyone's. */
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

/** Whether a process of this name is part of the implementation: a hook, the engine, the keeper; or the peer. */
export function isOurs(name: string): boolean {
  return OURS.includes(name);
}

function isCounted({ client }: RequestRate): boolean {
  return client === undefined || !OTHERS.includes(client);
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + value(item), 0);
}
