/**
 * Removes everything that a cluster has left: its processes first, then its folder. It uses only the cluster's record.
 * Also removes the abandoned clusters of this checkout. @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeBridge } from "./network.ts";
import { endProcesses, isRunning, processesOf } from "./processes.ts";
import { CHECKOUT, type ClusterRecord, type Note, readRecord, RECORD } from "./state.ts";
import { removeMountPoints } from "./storage.ts";

/**
 * Everything that a cluster keeps in its folder. The record comes last, so that an interrupted removal can be
 * continued.
 */
const CONTENTS = [
  ...["etcd", "logs", "node", "pki", "runtime", "registry"],
  ...["kubeconfig", "kwok.yaml", "scheduler.yaml", "registry.yaml", `${RECORD}.new`, RECORD],
];

const CGROUP_ROOT = "/sys/fs/cgroup";

/** containerd names the parent of a container's group after its namespace. */
const CGROUP_PARENT = "k8s.io";

/**
 * Ends the cluster in a folder, even if some of its processes have ended, and removes the folder.
 *
 * @returns whether there was a cluster
 */
export async function removeCluster(stateDir: string): Promise<boolean> {
  const record = readRecord(stateDir);
  if (!record) return false;
  await endCluster(stateDir, record);
  removeFolder(stateDir);
  return true;
}

/**
 * Removes the clusters of this checkout whose owner has ended or whose folder was deleted, and the notes of clusters
 * that have ended. Does not touch the clusters of another checkout, as long as that checkout exists.
 */
export async function removeAbandonedClusters(folder: string, progress: (line: string) => void): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const path = join(folder, name);
    if (await sweep(JSON.parse(readFileSync(path, "utf8")), progress)) rmSync(path, { force: true });
  }
}

/** Returns whether the cluster is gone. */
async function sweep({ stateDir, checkout, record }: Note, progress: (line: string) => void): Promise<boolean> {
  if (checkout !== undefined && checkout !== CHECKOUT && existsSync(checkout)) return false;
  const found = readRecord(stateDir);
  const isThere = found?.id === record.id;
  // The record in the folder can be newer than the note, if the process was killed between the two writes.
  const { owner, processes } = isThere ? found : record;
  if (isThere && (owner === undefined || isRunning(owner))) return false;
  if (isThere || processes.some(isRunning)) progress(`clearing away what is left of a cluster in ${stateDir} …`);
  await endCluster(stateDir, isThere ? found : record);
  if (isThere || !found) removeFolder(stateDir);
  return true;
}

/** Ends a cluster's processes and removes what it has outside its folder. The folder may already have been deleted. */
async function endCluster(stateDir: string, record: ClusterRecord): Promise<void> {
  await endProcesses(record.processes);
  // A process may have started another one just before it ended.
  for (let left = processesOf(record.id); left.length > 0; left = processesOf(record.id)) await endProcesses(left);
  await removeRealNode(stateDir, record);
  if (record.network) await removeBridge(record.network.ip, record.network.bridge);
  if (record.mountPoints) removeMountPoints(record.mountPoints);
}

/** Removes the files of a cluster from its folder. If nothing else is in the folder, removes the folder too. */
function removeFolder(stateDir: string): void {
  for (const name of CONTENTS) rmSync(join(stateDir, name), { recursive: true, force: true });
  if (existsSync(stateDir) && readdirSync(stateDir).length === 0) rmdirSync(stateDir);
}

/** Removes what a real node has left outside the cluster's folder, after its processes have ended. */
export async function removeRealNode(stateDir: string, { realNode }: ClusterRecord): Promise<void> {
  if (!realNode) return;
  await removeContainerCgroups(join(stateDir, "node", "mounts", "run", "containerd"));
}

/**
 * Removes the control groups of all containers that containerd was running, in every hierarchy (version 1) or in the
 * only one (version 2). Their processes must have ended. The kernel may take a moment to notice this.
 *
 * @param containerdState containerd's folder of running containers, as it was when containerd ended
 */
async function removeContainerCgroups(containerdState: string): Promise<void> {
  const tasks = join(containerdState, "io.containerd.runtime.v2.task", CGROUP_PARENT);
  const containers = existsSync(tasks) ? readdirSync(tasks) : [];
  const parents = [CGROUP_ROOT, ...readdirSync(CGROUP_ROOT).map((name) => join(CGROUP_ROOT, name))].map((root) =>
    join(root, CGROUP_PARENT)
  );
  const left = () =>
    parents.flatMap((parent) => containers.map((id) => join(parent, id))).filter((path) => existsSync(path));
  for (let waited = 0; waited < 5000 && left().length > 0; waited += 50) {
    for (const path of left()) removeTree(path);
    if (left().length > 0) await sleep(50);
  }
  if (left().length > 0) throw new Error(`Cannot remove control group ${left()[0]}: still in use after five seconds`);
  // The parent stays as long as other containers of this machine have groups in it.
  for (const parent of parents) removeEmpty(parent);
}

function removeTree(path: string): void {
  for (const child of readdirSync(path, { withFileTypes: true })) {
    if (child.isDirectory()) removeTree(join(path, child.name));
  }
  removeEmpty(path);
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // The group is busy until the kernel has removed its last process, or it is in use, or it never existed. Callers
    // check again if it matters.
  }
}
