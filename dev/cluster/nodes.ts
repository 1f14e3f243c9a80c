/** Decides which nodes a cluster gets and starts them: a real one, simulated ones or both. @module */
import { callApi } from "./api.ts";
import { findPrograms } from "./binaries.ts";
import type { ClusterOptions } from "./cluster.ts";
import type { ControlPlane } from "./controlplane.ts";
import { SIMULATED_PROVISIONER } from "./kwokvolumes.ts";
import { findNodeTools, type NodeTools } from "./machine.ts";
import { REAL_NODE } from "./nodeconfig.ts";
import { endProcesses } from "./processes.ts";
import { CONTAINERD, KUBELET, SIMULATED_NODES } from "./programs.ts";
import { startRealNode } from "./realnode.ts";
import { removeRealNode } from "./remove.ts";
import type { Session } from "./session.ts";
import { startSimulatedNodes } from "./simulated.ts";
import { createStorageClass } from "./storage.ts";

const SIMULATED_BY_DEFAULT = 32;

/** Either the tools for a real node to be tried, or why there can be none; neither if none is wanted. */
export interface NodePlan {
  tools?: NodeTools;
  whyNotReal?: string;
}

/** Decides whether to try a real node. @throws {Error} if the options insist on one and the machine has not what it takes */
export function planNodes(session: Session, wanted: ClusterOptions["nodes"]): NodePlan {
  if (wanted !== "auto" && wanted !== "real") return {};
  const found = findNodeTools(session.progress);
  if ("runc" in found) return { tools: found };
  if (wanted === "real") throw new Error(`Cannot start a real node: ${found.refusal}`);
  return { whyNotReal: `Nodes are simulated: ${found.refusal}.` };
}

/** Starts the nodes, with the StorageClass that suits them, and records what they became. */
export async function startNodes(session: Session, plane: ControlPlane, plan: NodePlan, options: ClusterOptions) {
  const failed = plan.tools ? await tryRealNode(session, plane, plan.tools, options) : plan.whyNotReal;
  const real = plan.tools !== undefined && failed === undefined;
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
  tools: NodeTools,
  options: ClusterOptions,
): Promise<string | undefined> {
  const before = session.record().processes;
  try {
    const programs = { ...await findPrograms(KUBELET, session), ...await findPrograms(CONTAINERD, session) };
    await startRealNode(session, plane, { tools, programs, images: options.images ?? [] });
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
