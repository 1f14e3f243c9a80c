/** Starts a local Kubernetes cluster, or finds the one that runs in a folder. @module */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { findPrograms } from "./binaries.ts";
import { startApiServer, startControllerManager, startScheduler } from "./controlplane.ts";
import { createDefinitions } from "./crds.ts";
import type { ImageSpec } from "./images.ts";
import { withLock } from "./lock.ts";
import { planNodes, startNodes } from "./nodes.ts";
import { isRunning, thisProcess } from "./processes.ts";
import { CONTROL_PLANE } from "./programs.ts";
import { notesFolder, saveCluster, sweepClusters } from "./notes.ts";
import { removeCluster } from "./remove.ts";
import { beginSession, type Session } from "./session.ts";
import { type ClusterRecord, kubeconfigPath, readRecord } from "./state.ts";
import { prepareMountPoints } from "./storage.ts";

export interface ClusterOptions {
  /** Folder that takes everything the cluster writes; made if absent, removed at the end. */
  stateDir: string;
  /** `auto` is `real` where the machine allows it, else `simulated`. */
  nodes: "auto" | "real" | "simulated" | "none";
  /** With real nodes 0 by default, else 32. */
  simulatedNodes?: number;
  /** Where Pods of simulated nodes have their addresses, as `A.B.C.D/N`; by default where nothing answers. */
  podSubnet?: string;
  /** Lets the cluster outlive this process; otherwise it counts as abandoned once this process is gone. */
  detached?: boolean;
  /** Whether the real node enforces NetworkPolicies; nobody does on simulated ones. @default false */
  networkPolicies?: boolean;
  /** Images that Pods on a real node can use besides busybox. */
  images?: ImageSpec[];
  /**
   * YAML texts whose CustomResourceDefinitions are there before controllers start: those that come later are seen by
   * the garbage collector after up to thirty seconds.
   */
  crds?: string[];
  /** Further arguments of kube-apiserver; they win over its own. */
  apiServerArgs?: string[];
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
  const progress = options.progress ?? (() => {});
  const notes = notesFolder();
  await sweepClusters(notes, progress);
  const write = (record: ClusterRecord) => saveCluster(stateDir, record, notes);
  const session = await withLock(`claim ${stateDir}`, async () => {
    await claimFolder(stateDir);
    return beginSession({ stateDir, write, progress, signal: options.signal }, newRecord());
  });
  try {
    await startAll(session, options);
    if (options.detached) session.update({ owner: undefined });
    session.update({ ready: true });
    return clusterOf(stateDir, session.record());
  } catch (error) {
    await removeCluster(stateDir).catch((left: Error) => progress(left.message));
    throw options.signal?.aborted ? options.signal.reason : error;
  }
}

/** Finds the cluster that runs in a folder; `undefined` if there is none or if it is not whole. */
export function findCluster(stateDir: string): Cluster | undefined {
  const record = readRecord(resolve(stateDir));
  if (!record?.ready || !record.processes.every(isRunning)) return undefined;
  return clusterOf(resolve(stateDir), record);
}

/** Makes room for a cluster in a folder. @throws {Error} if one is in use there, or if the folder holds something else */
async function claimFolder(stateDir: string): Promise<void> {
  const record = readRecord(stateDir);
  if (!record) {
    const holdsOthers = existsSync(stateDir) && readdirSync(stateDir).length > 0;
    if (holdsOthers) throw new Error(`Cannot start a cluster in ${stateDir}: the folder holds something else`);
    return;
  }
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
  const plan = planNodes(session, options.nodes);
  const programs = await findPrograms(CONTROL_PLANE, session);
  session.update({ kubectl: programs["kubectl"] ?? "kubectl" });
  session.progress("starting the control plane …");
  if (plan.real) prepareMountPoints(session);
  const plane = await startApiServer(session, programs, plan.real?.network, options.apiServerArgs);
  await createDefinitions(plane.access, options.crds ?? [], session.signal);
  await startControllerManager(session, plane);
  if (options.nodes === "none") return;
  startScheduler(session, plane);
  await startNodes(session, plane, plan, options);
}

function clusterOf(stateDir: string, record: ClusterRecord): Cluster {
  const { server, nodes, whyNotReal, kubectl } = record;
  const stop = async () => {
    await removeCluster(stateDir);
  };
  const why = whyNotReal === undefined ? {} : { whyNotReal };
  return { kubeconfig: kubeconfigPath(stateDir), server, nodes, ...why, kubectl, stateDir, stop };
}
