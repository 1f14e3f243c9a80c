/**
 * Starts a local Kubernetes cluster with its nodes (a real one, simulated ones or both), or finds the one that runs in
 * a folder. Lists the commands to use the cluster. @module
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { callApi, createDefinitions } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import { type ControlPlane, startApiServer, startControllerManager, startScheduler } from "./controlplane.ts";
import type { ImageSpec } from "./images.ts";
import { withLock } from "./lock.ts";
import { endProcesses, isRunning, thisProcess } from "./processes.ts";
import { CONTAINERD, CONTROL_PLANE, DNS, NODE, SIMULATED_NODES } from "./programs.ts";
import { removeAbandonedClusters, removeCluster, removeRealNode } from "./remove.ts";
import {
  beginSession,
  type ClusterRecord,
  kubeconfigPath,
  notesFolder,
  readRecord,
  saveCluster,
  type Session,
} from "./state.ts";
import { createStorageClass, prepareMountPoints } from "./storage.ts";
import { SIMULATED_PROVISIONER } from "./kwok.ts";
import { findNodeTools, type NodeTools } from "./machine.ts";
import { REAL_NODE } from "./nodeconfig.ts";
import { makeBridge, type Network, pickNetwork } from "./network.ts";
import { startRealNode } from "./realnode.ts";
import { startSimulatedNodes } from "./simulated.ts";

export interface ClusterOptions {
  /** The folder for everything that the cluster writes. It is created if it does not exist, and removed at the end. */
  stateDir: string;
  /** `auto` means `real` if the machine allows it, otherwise `simulated`. */
  nodes: "auto" | "real" | "simulated" | "none";
  /** Number of simulated nodes. The default is 0 if there is a real node, otherwise 32. */
  simulatedNodes?: number;
  /** The IPv4 CIDR from which Pods on simulated nodes get addresses. At the default addresses, nothing answers. */
  podSubnet?: string;
  /**
   * Whether the cluster keeps running when this process ends. If not, the next start of a cluster removes the
   * abandoned one.
   */
  detached?: boolean;
  /** Whether the real node enforces NetworkPolicies. Simulated nodes never do. @default false */
  networkPolicies?: boolean;
  /** Images that Pods on a real node can use in addition to busybox. */
  images?: ImageSpec[];
  /**
   * YAML texts with CustomResourceDefinitions, which are created before kube-controller-manager starts. Of a CRD that
   * is created later, the garbage collector ignores all objects for up to 30 seconds.
   */
  crds?: string[];
  /** Additional arguments of kube-apiserver, which override the default ones. */
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
  /** Why `auto` did not choose a real node, and what to install. */
  whyNotReal?: string;
  /** Path of a kubectl of a compatible version. */
  kubectl: string;
  stateDir: string;
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster, and resolves when the cluster accepts Pods. If the start fails or is aborted, removes everything
 * that was started.
 *
 * @throws {Error} if a cluster in the folder is in use; if a process fails, with the last lines of its log; the
 * signal's reason if the signal is aborted
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const stateDir = resolve(options.stateDir);
  const progress = options.progress ?? (() => {});
  const notes = notesFolder();
  await removeAbandonedClusters(notes, progress);
  const write = (record: ClusterRecord) => saveCluster(stateDir, record, notes);
  const session = await withLock(`claim ${stateDir}`, async () => {
    await prepareFolder(stateDir);
    return beginSession({ stateDir, write, progress, signal: options.signal }, newRecord());
  });
  try {
    await startAll(session, options);
    if (options.detached) session.update({ owner: undefined });
    session.update({ ready: true });
    return clusterOf(stateDir, session.record());
  } catch (error) {
    await removeCluster(stateDir).catch((failure: Error) => progress(failure.message));
    throw options.signal?.aborted ? options.signal.reason : error;
  }
}

/**
 * Returns the cluster that runs in a folder; undefined: none runs there, or one of the cluster's processes has ended.
 */
export function findCluster(stateDir: string): Cluster | undefined {
  const record = readRecord(resolve(stateDir));
  if (!record?.ready || !record.processes.every(isRunning)) return undefined;
  return clusterOf(resolve(stateDir), record);
}

/**
 * Removes a cluster from the folder if the cluster has ended or was abandoned.
 *
 * @throws {Error} if the cluster is in use, or if the folder contains other files
 */
async function prepareFolder(stateDir: string): Promise<void> {
  const record = readRecord(stateDir);
  if (!record) {
    const hasOtherFiles = existsSync(stateDir) && readdirSync(stateDir).length > 0;
    if (hasOtherFiles) throw new Error(`Cannot start a cluster in ${stateDir}: the folder contains other files`);
    return;
  }
  const inUse = record.owner ? isRunning(record.owner) : findCluster(stateDir) !== undefined;
  const reason = record.owner ? `process ${record.owner.pid} uses it` : "a cluster runs there; npm run down stops it";
  if (inUse) throw new Error(`Cannot start a cluster in ${stateDir}: ${reason}`);
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
  const controlPlane = await startApiServer(session, programs, plan.real?.network, options.apiServerArgs);
  await createDefinitions(controlPlane.access, options.crds ?? [], session.signal);
  await startControllerManager(session, controlPlane);
  if (options.nodes === "none") return;
  startScheduler(session, controlPlane);
  await startNodes(session, controlPlane, plan, options);
}

function clusterOf(stateDir: string, record: ClusterRecord): Cluster {
  const { server, nodes, whyNotReal, kubectl } = record;
  const stop = async () => {
    await removeCluster(stateDir);
  };
  const why = whyNotReal === undefined ? {} : { whyNotReal };
  return { kubeconfig: kubeconfigPath(stateDir), server, nodes, ...why, kubectl, stateDir, stop };
}

/** Returns the commands that set up a shell for the cluster, one on each line. */
export function environmentOf({ kubeconfig, kubectl }: Pick<Cluster, "kubeconfig" | "kubectl">): string {
  return `export KUBECONFIG=${kubeconfig}
export PATH=$PATH:${dirname(kubectl)}    # adds a kubectl that is compatible with the cluster`;
}

/** Returns the commands that start hookbox in a new cluster and create a Sandbox, one on each line. */
export function nextSteps({ nodes }: Pick<Cluster, "nodes">): string {
  const pool =
    "kubectl apply -f examples/python.yaml            # a pool with hookbox's runtime, for the program in README.md";
  return `npm run dev                                      # the hooks; they start again when you save a file
npm run standin -- --kubeconfig $KUBECONFIG      # the fake Metacontroller
npm run hookbox -- keeper --kubeconfig $KUBECONFIG   # the keeper and the binder
npm run -s hookbox -- manifests --hooks-url http://127.0.0.1:8080 | kubectl apply --server-side -f -
kubectl apply -f examples/sandbox.yaml${nodes === "real" ? `\n${pool}` : ""}`;
}

const SIMULATED_BY_DEFAULT = 32;

/**
 * The tools and the network for a real node, or the reason why there can be none. If no real node is wanted, both are
 * absent.
 */
interface NodePlan {
  real?: { tools: NodeTools; network: Network };
  whyNotReal?: string;
}

/**
 * Decides whether to try a real node, and creates its network, because the API server listens there.
 *
 * @throws {Error} if the options require a real node and the machine cannot run one
 */
function planNodes(session: Session, wanted: ClusterOptions["nodes"]): NodePlan {
  if (wanted !== "auto" && wanted !== "real") return {};
  const real = prepareRealNode(session);
  if (!("refusal" in real)) return { real };
  if (wanted === "real") throw new Error(`Cannot start a real node: ${real.refusal}`);
  return { whyNotReal: `Nodes are simulated: ${real.refusal}.` };
}

/**
 * Finds the tools and creates the network. If this is not possible, returns the reason as a clause that follows a
 * colon.
 */
function prepareRealNode(session: Session): NonNullable<NodePlan["real"]> | { refusal: string } {
  const tools = findNodeTools(session.progress);
  if ("refusal" in tools) return tools;
  const network = pickNetwork(session.record().id);
  session.update({ network: { bridge: network.bridge, ip: tools.ip } });
  try {
    makeBridge(tools.ip, network);
    return { tools, network };
  } catch (error) {
    return { refusal: error instanceof Error ? error.message : String(error) };
  }
}

/** Starts the nodes and creates a suitable StorageClass. Records the kind of the nodes. */
async function startNodes(session: Session, plane: ControlPlane, plan: NodePlan, options: ClusterOptions) {
  const failed = plan.real ? await tryRealNode(session, plane, plan.real, options) : plan.whyNotReal;
  const real = plan.real !== undefined && failed === undefined;
  await createStorageClass(plane.access, real ? "kubernetes.io/host-path" : SIMULATED_PROVISIONER);
  // If only a real node was wanted and it failed, the cluster still needs some node.
  const simulatedNodes = real ? options.simulatedNodes ?? 0 : options.simulatedNodes || SIMULATED_BY_DEFAULT;
  if (simulatedNodes > 0) {
    const kwok = (await findPrograms(SIMULATED_NODES, session))["kwok"] ?? "kwok";
    const { podSubnet } = options;
    await startSimulatedNodes(session, plane, { kwok, count: simulatedNodes, besideReal: real, podSubnet });
  }
  const why = failed === undefined ? {} : { whyNotReal: failed };
  session.update({ nodes: real ? "real" : "simulated", simulatedNodes, ...why });
}

/** Starts the real node. With `auto`, a failed start is cleaned up, and the reason is returned as one sentence. */
async function tryRealNode(
  session: Session,
  plane: ControlPlane,
  node: NonNullable<NodePlan["real"]>,
  options: ClusterOptions,
): Promise<string | undefined> {
  const before = session.record().processes;
  try {
    let programs: Record<string, string> = {};
    for (const group of [NODE, CONTAINERD, DNS]) programs = { ...programs, ...await findPrograms(group, session) };
    const { images = [], networkPolicies = false } = options;
    await startRealNode(session, plane, { ...node, programs, images, networkPolicies });
    return undefined;
  } catch (error) {
    if (options.nodes === "real" || session.signal?.aborted || !(error instanceof Error)) throw error;
    await endProcesses(session.record().processes.filter((process) => !before.includes(process)));
    await removeRealNode(session.stateDir, session.record());
    session.update({ processes: before, realNode: undefined });
    await callApi(plane.access, "DELETE", `/api/v1/nodes/${REAL_NODE}`);
    session.progress(error.message);
    return `Nodes are simulated: ${error.message.split("\n")[0]}.`;
  }
}
