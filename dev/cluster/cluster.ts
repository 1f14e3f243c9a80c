/** Starts a local Kubernetes cluster, or finds the one that runs in a folder. @module */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { callApi } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import { type ControlPlane, startApiServer, startControllerManager, startScheduler } from "./controlplane.ts";
import type { ImageSpec } from "./images.ts";
import { findNodeTools, type NodeTools } from "./machine.ts";
import { REAL_NODE } from "./nodeconfig.ts";
import { endProcesses, isRunning, thisProcess } from "./processes.ts";
import { CONTAINERD, CONTROL_PLANE, KUBELET, SIMULATED_NODES } from "./programs.ts";
import { startRealNode } from "./realnode.ts";
import { removeCluster, removeRealNode } from "./remove.ts";
import { beginSession, type Session } from "./session.ts";
import { startSimulatedNodes } from "./simulated.ts";
import { type ClusterRecord, kubeconfigPath, readRecord } from "./state.ts";
import { createStorageClass, prepareMountPoints } from "./storage.ts";

export interface ClusterOptions {
  /** Folder that takes everything the cluster writes; made if absent, removed at the end. */
  stateDir: string;
  /** `auto` is `real` where the machine allows it, else `simulated`. */
  nodes: "auto" | "real" | "simulated" | "none";
  /** With real nodes 0 by default, else 32. */
  simulatedNodes?: number;
  /** Lets the cluster outlive this process; otherwise it counts as abandoned once this process is gone. */
  detached?: boolean;
  /** Images that Pods on a real node can use besides busybox. */
  images?: ImageSpec[];
  progress?: (line: string) => void;
  signal?: AbortSignal;
}

export interface Cluster {
  /** Path of a kubeconfig for the administrator. */
  kubeconfig: string;
  /** URL of the API server. */
  server: string;
  nodes: "real" | "simulated" | "none";
  /** Why `auto` did not give a real node: one sentence that says what to install. */
  whyNotReal?: string;
  /** Path of a kubectl that fits. */
  kubectl: string;
  stateDir: string;
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster and resolves once it takes Pods. Whatever a start that fails or is aborted had begun is cleared away.
 *
 * @throws {Error} one clear sentence, then the last lines of the log of the process that failed; the signal's reason if
 * aborted; at once if a cluster in the folder is in use
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const stateDir = resolve(options.stateDir);
  await clearAbandoned(stateDir);
  mkdirSync(join(stateDir, "logs"), { recursive: true });
  const session = beginSession(stateDir, newRecord(), options.progress ?? (() => {}), options.signal);
  try {
    await startAll(session, options);
    if (options.detached) session.update({ owner: undefined });
    session.update({ ready: true });
    return clusterOf(stateDir, session.record());
  } catch (error) {
    await removeCluster(stateDir);
    throw error;
  }
}

/** Finds the cluster that runs in a folder; `undefined` if there is none or if it is not whole. */
export function findCluster(stateDir: string): Cluster | undefined {
  const record = readRecord(resolve(stateDir));
  if (!record?.ready || !record.processes.every(isRunning)) return undefined;
  return clusterOf(resolve(stateDir), record);
}

async function clearAbandoned(stateDir: string): Promise<void> {
  const record = readRecord(stateDir);
  if (!record) return;
  const inUse = record.owner ? isRunning(record.owner) : findCluster(stateDir) !== undefined;
  const by = record.owner ? `process ${record.owner.pid} uses it` : "it is up (npm run down ends it)";
  if (inUse) throw new Error(`Cannot start a cluster in ${stateDir}: ${by}`);
  await removeCluster(stateDir);
}

function newRecord(): ClusterRecord {
  const id = randomBytes(4).toString("hex");
  const none = { server: "", kubectl: "", nodes: "none" as const, simulatedNodes: 0, processes: [] };
  return { id, owner: thisProcess(), ready: false, ...none };
}

async function startAll(session: Session, options: ClusterOptions): Promise<void> {
  const { tools, whyNotReal } = planRealNode(session, options);
  const programs = await findPrograms(CONTROL_PLANE, session);
  session.update({ kubectl: programs["kubectl"] ?? "kubectl" });
  session.progress("starting the control plane …");
  if (tools) prepareMountPoints(session);
  const plane = await startApiServer(session, programs);
  await startControllerManager(session, plane);
  if (options.nodes === "none") return;
  await createStorageClass(plane.access);
  startScheduler(session, plane);
  const failed = tools ? await tryRealNode(session, plane, tools, options) : whyNotReal;
  const real = tools !== undefined && failed === undefined;
  const simulatedNodes = options.simulatedNodes ?? (real ? 0 : 32);
  if (simulatedNodes > 0) {
    const kwok = (await findPrograms(SIMULATED_NODES, session))["kwok"] ?? "kwok";
    await startSimulatedNodes(session, plane, { kwok, count: simulatedNodes, tainted: real });
  }
  const why = failed === undefined ? {} : { whyNotReal: failed };
  session.update({ nodes: real ? "real" : "simulated", simulatedNodes, ...why });
}

/** Decides whether to try a real node; says why not if `auto` cannot have one. */
function planRealNode(session: Session, options: ClusterOptions): { tools?: NodeTools; whyNotReal?: string } {
  if (options.nodes !== "auto" && options.nodes !== "real") return {};
  const found = findNodeTools(session.progress);
  if (!("whyNotReal" in found)) return { tools: found };
  if (options.nodes === "real") throw new Error(`Cannot start a real node: ${found.whyNotReal}`);
  return found;
}

/** Starts the real node; with `auto` a failure is cleared away and told in one sentence. */
async function tryRealNode(
  session: Session,
  plane: ControlPlane,
  tools: NodeTools,
  options: ClusterOptions,
): Promise<string | undefined> {
  const before = session.record().processes;
  try {
    const programs = { ...await findPrograms(KUBELET, session), ...await findPrograms(CONTAINERD, session) };
    await startRealNode(session, plane, { tools, programs, images: options.images ?? [] });
    return undefined;
  } catch (error) {
    if (options.nodes === "real" || session.signal?.aborted || !(error instanceof Error)) throw error;
    const started = session.record().processes.filter((process) => !before.includes(process));
    await endProcesses(started);
    await removeRealNode(session.stateDir, session.record());
    session.update({ processes: before, realNode: undefined });
    await callApi(plane.access, "DELETE", `/api/v1/nodes/${REAL_NODE}`);
    session.progress(error.message);
    return `No real node: ${error.message.split("\n")[0]}; nodes are simulated.`;
  }
}

function clusterOf(stateDir: string, record: ClusterRecord): Cluster {
  const { server, nodes, whyNotReal, kubectl } = record;
  const stop = async () => {
    await removeCluster(stateDir);
  };
  const why = whyNotReal === undefined ? {} : { whyNotReal };
  return { kubeconfig: kubeconfigPath(stateDir), server, nodes, ...why, kubectl, stateDir, stop };
}
