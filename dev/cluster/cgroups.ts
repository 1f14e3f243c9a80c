/** Removes the control groups of containers that ended with their node rather than one by one. @module */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = "/sys/fs/cgroup";
/** containerd names a container's group after its namespace and id. */
const PARENT = "k8s.io";

/**
 * Removes the control groups of all containers that containerd had running, in every hierarchy (version 1) or in the
 * only one (version 2). Their processes must have been ended; the kernel may take a moment to notice.
 *
 * @param containerdState containerd's folder for what runs, left as it was when containerd ended
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
  // Stays while other containers of this machine have groups in it.
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
    // Busy until the kernel has let go of its last process, or in use, or never there; callers look again if it matters.
  }
}
