/** Starts KWOK and its simulated Nodes, and waits until they are Ready. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createObject, readObject } from "./api.ts";
import { type ControlPlane, userKubeconfig } from "./controlplane.ts";
import { buildSimulatedNode, renderKwokConfig } from "./kwokconfig.ts";
import { nodeAndPodStages } from "./kwokstages.ts";
import { volumeStages } from "./kwokvolumes.ts";
import type { Session } from "./session.ts";
import { STORAGE_CLASS } from "./storage.ts";
import { waitUntil } from "./wait.ts";

/** How many Nodes to create in parallel. */
const AT_ONCE = 16;

interface NodeList {
  items: { status?: { conditions?: { type: string; status: string }[] } }[];
}

/**
 * Starts simulated Nodes named `simulated-0`, `simulated-1`, …
 *
 * @param nodes how many, and whether there is a real one, which then gets the Pods that ask for nothing else and whose volumes serve all
 */
export async function startSimulatedNodes(
  session: Session,
  plane: ControlPlane,
  nodes: { kwok: string; count: number; besideReal: boolean },
): Promise<void> {
  session.progress(`starting ${nodes.count} simulated nodes …`);
  const config = join(session.stateDir, "kwok.yaml");
  const stages = [...nodeAndPodStages(), ...(nodes.besideReal ? [] : volumeStages(STORAGE_CLASS))];
  writeFileSync(config, renderKwokConfig(stages));
  const args = [`--kubeconfig=${userKubeconfig(plane, "kwok")}`, `--config=${config}`];
  const kwok = session.start("kwok", nodes.kwok, args);
  const indexes = Array.from({ length: nodes.count }, (_, index) => index);
  const create = (index: number) =>
    createObject(plane.access, "/api/v1/nodes", buildSimulatedNode(index, nodes.besideReal));
  for (let first = 0; first < nodes.count; first += AT_ONCE) {
    await Promise.all(indexes.slice(first, first + AT_ONCE).map(create));
  }
  const probe = async () => await countReady(plane, "type=kwok") === nodes.count;
  await waitUntil({ what: "simulated nodes", probe, needs: [kwok], timeoutSeconds: 60, signal: session.signal });
}

/** Counts the Nodes of a label selector whose condition Ready is True. */
export async function countReady(plane: ControlPlane, labelSelector: string): Promise<number> {
  const path = `/api/v1/nodes?labelSelector=${encodeURIComponent(labelSelector)}`;
  const list = await readObject<NodeList>(plane.access, path);
  const isReady = (node: NodeList["items"][number]) =>
    (node.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
  return (list?.items ?? []).filter(isReady).length;
}
