/**
 * Starts a local Kubernetes cluster, or finds the one that runs in a folder. Lists commands to work with it. @module
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { createDefinitions } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import { startApiServer, startControllerManager, startScheduler } from "./controlplane.ts";
import type { ImageSpec } from "./images.ts";
import { withLock } from "./lock.ts";
import { planNodes, startNodes } from "./nodes.ts";
import { notesFolder, saveCluster, sweepClusters } from "./notes.ts";
import { isRunning, thisProcess } from "./processes.ts";
import { CONTROL_PLANE } from "./programs.ts";
import { removeCluster } from "./remove.ts";
import { beginSession, type ClusterRecord, kubeconfigPath, readRecord, type Session } from "./state.ts";
import { prepareMountPoints } from "./storage.ts";

export interface ClusterOptions {
  /** The folder for everything that the cluster writes. It is created if absent, and removed at the end. */
  stateDir: string;
  /** `auto` means `real` if the machine allows it, otherwise `simulated`. */
  nodes: "auto" | "real" | "simulated" | "none";
  /** The default is 0 with a real node, otherwise 32. */
  simulatedNodes?: number;
  /**
   * The network of the addresses of Pods on simulated nodes, as `A.B.C.D/N`. By default, nothing answers at these
   * addresses.
   */
  podSubnet?: string;
  /**
   * Whether the cluster keeps running after this process. If not, it counts as abandoned when this process has ended.
   */
  detached?: boolean;
  /** Whether the real node enforces NetworkPolicies. Simulated nodes never do. @default false */
  networkPolicies?: boolean;
  /** Images that Pods on a real node can use besides busybox. */
  images?: ImageSpec[];
  /**
   * YAML texts whose CustomResourceDefinitions are created before controllers start. The garbage collector sees later
   * ones only after up to 30 seconds.
   */
  crds?: string[];
  /** Further arguments of kube-apiserver, which override the default ones. */
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
  /** Why `auto` did not choose a real node: one sentence that says what to install. */
  whyNotReal?: string;
  /** Path of a kubectl of a compatible version. */
  kubectl: string;
  stateDir: string;
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster, and resolves when it accepts Pods. If the start fails or is aborted, everything that it had started
 * is removed.
 *
 * @throws {Error} one clear sentence, then the last lines of the log of the process that failed; the signal's reason if
 * aborted; immediately if a cluster in the folder is in use
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

/** Returns the cluster that runs in a folder; undefined: there is none, or one of its processes has ended. */
export function findCluster(stateDir: string): Cluster | undefined {
  const record = readRecord(resolve(stateDir));
  if (!record?.ready || !record.processes.every(isRunning)) return undefined;
  return clusterOf(resolve(stateDir), record);
}

/**
 * Prepares a folder for a cluster. @throws {Error} if a cluster is in use there, or if the folder contains something
 * else
 */
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

/** Returns the commands that configure a shell for the cluster, one on each line. */
export function environmentOf({ kubeconfig, kubectl }: Pick<Cluster, "kubeconfig" | "kubectl">): string {
  return `export KUBECONFIG=${kubeconfig}
export PATH=$PATH:${dirname(kubectl)}    # a kubectl that fits`;
}

/** Returns the commands that run sandboxes in a cluster without hookbox, one on each line. */
export function nextSteps({ nodes }: Pick<Cluster, "nodes">): string {
  const pool =
    "kubectl apply -f examples/python.yaml            # a pool with hookbox's runtime, for the program in README.md";
  return `npm run dev                                      # the hooks; they start again when you save a file
npm run standin -- --kubeconfig $KUBECONFIG      # the fake Metacontroller
npm run hookbox -- keeper --kubeconfig $KUBECONFIG   # the keeper and the binder
npm run -s hookbox -- manifests --hooks-url http://127.0.0.1:8080 | kubectl apply --server-side -f -
kubectl apply -f examples/sandbox.yaml${nodes === "real" ? `\n${pool}` : ""}`;
}
