/** Starts KWOK and its simulated Nodes, and waits until they are Ready. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createObject, readObject } from "./api.ts";
import { type ControlPlane, userKubeconfig } from "./controlplane.ts";
import { buildSimulatedNode, nodeAndPodStages, renderKwokConfig, volumeStages } from "./kwok.ts";
import type { Session } from "./state.ts";
import { STORAGE_CLASS } from "./storage.ts";
import { waitUntil } from "./processes.ts";

/** How many Nodes to create in parallel. */
const AT_ONCE = 16;

interface NodeList {
  items: { spec?: { taints?: { key: string }[] }; status?: { conditions?: { type: string; status: string }[] } }[];
}

/**
 * Starts simulated Nodes named `simulated-0`, `simulated-1`, …
 *
 * @param nodes how many, and whether there is also a real node, which then gets all Pods that do not ask for a
 * simulated one, and whose volumes are used by all
 */
export async function startSimulatedNodes(
  session: Session,
  plane: ControlPlane,
  nodes: { kwok: string; count: number; besideReal: boolean; podSubnet: string | undefined },
): Promise<void> {
  session.progress(`starting ${nodes.count} simulated nodes …`);
  const config = join(session.stateDir, "kwok.yaml");
  const stages = [...nodeAndPodStages(), ...(nodes.besideReal ? [] : volumeStages(STORAGE_CLASS))];
  writeFileSync(config, renderKwokConfig(stages, nodes.podSubnet));
  const args = [`--kubeconfig=${userKubeconfig(plane, "kwok")}`, `--config=${config}`];
  const kwok = session.start("kwok", nodes.kwok, args);
  const indexes = Array.from({ length: nodes.count }, (_, index) => index);
  const create = (index: number) =>
    createObject(plane.access, "/api/v1/nodes", buildSimulatedNode(index, nodes.besideReal, new Date()));
  for (let first = 0; first < nodes.count; first += AT_ONCE) {
    await Promise.all(indexes.slice(first, first + AT_ONCE).map(create));
  }
  const probe = async () => await countReady(plane, "type=kwok") === nodes.count;
  // Every check reads all Nodes, so thousands of Nodes are checked less often.
  const everyMilliseconds = Math.max(25, nodes.count);
  const { signal } = session;
  await waitUntil({ what: "simulated nodes", probe, needs: [kwok], timeoutSeconds: 120, everyMilliseconds, signal });
}

/** Counts the Nodes with a label selector that are Ready and that the scheduler may use. */
export async function countReady(plane: ControlPlane, labelSelector: string): Promise<number> {
  const path = `/api/v1/nodes?labelSelector=${encodeURIComponent(labelSelector)}`;
  const list = await readObject<NodeList>(plane.access, path);
  const isReady = ({ spec, status }: NodeList["items"][number]) =>
    (status?.conditions ?? []).some((condition) => condition.type === "Ready" && condition.status === "True") &&
    !(spec?.taints ?? []).some((taint) => taint.key === "node.kubernetes.io/not-ready");
  return (list?.items ?? []).filter(isReady).length;
}
