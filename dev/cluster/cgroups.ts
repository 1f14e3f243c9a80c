/** Removes the control groups of containers that were ended together with their node. @module */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = "/sys/fs/cgroup";
/** containerd names the parent of a container's group after its namespace. */
const PARENT = "k8s.io";

/**
 * Removes the control groups of all containers that containerd was running, in every hierarchy (version 1) or in the
 * only one (version 2). Their processes must have ended. The kernel may take a moment to notice this.
 *
 * @param containerdState containerd's folder of running containers, as it was when containerd ended
 */
export async function removeContainerCgroups(containerdState: string): Promise<void> {
  const tasks = join(containerdState, "io.containerd.runtime.v2.task", PARENT);
  const containers = existsSync(tasks) ? readdirSync(tasks) : [];
  const parents = [ROOT, ...readdirSync(ROOT).map((name) => join(ROOT, name))].map((root) => join(root, PARENT));
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
