/** Decides which nodes a cluster gets and starts them: a real one, simulated ones or both. @module */
import { callApi } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import type { ClusterOptions } from "./cluster.ts";
import type { ControlPlane } from "./controlplane.ts";
import { SIMULATED_PROVISIONER } from "./kwokvolumes.ts";
import { findNodeTools, type NodeTools } from "./machine.ts";
import { REAL_NODE } from "./nodeconfig.ts";
import { makeBridge, type Network, pickNetwork } from "./network.ts";
import { endProcesses } from "./processes.ts";
import { CONTAINERD, DNS, NODE, SIMULATED_NODES } from "./programs.ts";
import { startRealNode } from "./realnode.ts";
import { removeRealNode } from "./remove.ts";
import type { Session } from "./session.ts";
import { startSimulatedNodes } from "./simulated.ts";
import { createStorageClass } from "./storage.ts";

const SIMULATED_BY_DEFAULT = 32;

/** Either what a real node to be tried is made of, or why there can be none; neither if none is wanted. */
export interface NodePlan {
  real?: { tools: NodeTools; network: Network };
  whyNotReal?: string;
}

/**
 * Decides whether to try a real node, and makes the network that it is to have: the API server listens there.
 *
 * @throws {Error} if the options insist on one and the machine has not what it takes
 */
export function planNodes(session: Session, wanted: ClusterOptions["nodes"]): NodePlan {
  if (wanted !== "auto" && wanted !== "real") return {};
  const real = prepareRealNode(session);
  if (!("refusal" in real)) return { real };
  if (wanted === "real") throw new Error(`Cannot start a real node: ${real.refusal}`);
  return { whyNotReal: `Nodes are simulated: ${real.refusal}.` };
}

/** Finds the tools and makes the network; or says why not, in a clause to follow a colon. */
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

/** Starts the nodes, with the StorageClass that suits them, and records what they became. */
export async function startNodes(session: Session, plane: ControlPlane, plan: NodePlan, options: ClusterOptions) {
  const failed = plan.real ? await tryRealNode(session, plane, plan.real, options) : plan.whyNotReal;
  const real = plan.real !== undefined && failed === undefined;
  await createStorageClass(plane.access, real ? "kubernetes.io/host-path" : SIMULATED_PROVISIONER);
  // A cluster that was to have a real node only still needs some node.
  const simulatedNodes = real ? options.simulatedNodes ?? 0 : options.simulatedNodes || SIMULATED_BY_DEFAULT;
  if (simulatedNodes > 0) {
    const kwok = (await findPrograms(SIMULATED_NODES, session))["kwok"] ?? "kwok";
    const { podSubnet } = options;
    await startSimulatedNodes(session, plane, { kwok, count: simulatedNodes, besideReal: real, podSubnet });
  }
  const why = failed === undefined ? {} : { whyNotReal: failed };
  session.update({ nodes: real ? "real" : "simulated", simulatedNodes, ...why });
}

/** Starts the real node; with `auto` a failure is cleared away and returned as one sentence. */
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
