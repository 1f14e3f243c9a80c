/** Decides which nodes a cluster gets (a real one, simulated ones or both), and starts them. @module */
import { callApi } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import type { ClusterOptions } from "./cluster.ts";
import type { ControlPlane } from "./controlplane.ts";
import { SIMULATED_PROVISIONER } from "./kwok.ts";
import { findNodeTools, type NodeTools } from "./machine.ts";
import { REAL_NODE } from "./nodeconfig.ts";
import { makeBridge, type Network, pickNetwork } from "./network.ts";
import { endProcesses } from "./processes.ts";
import { CONTAINERD, DNS, NODE, SIMULATED_NODES } from "./programs.ts";
import { startRealNode } from "./realnode.ts";
import { removeRealNode } from "./remove.ts";
import type { Session } from "./state.ts";
import { startSimulatedNodes } from "./simulated.ts";
import { createStorageClass } from "./storage.ts";

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
export function planNodes(session: Session, wanted: ClusterOptions["nodes"]): NodePlan {
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
export async function startNodes(session: Session, plane: ControlPlane, plan: NodePlan, options: ClusterOptions) {
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
