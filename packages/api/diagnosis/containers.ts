/**
 * Lists the containers of a Pod for the diagnosis rules, init containers first, each with its description and evidence.
 * @module
 */
import type { Evidence } from "./finding.ts";
import type { ContainerFact } from "./podfact.ts";
import type { PodScene } from "./scene.ts";

export interface Container {
  status: ContainerFact;
  /** `container "main"` or `init container "setup"`. */
  title: string;
  /** The field of the Pod's spec that contains the container. */
  field: "containers[]" | "initContainers[]";
  /** Reason and message of a waiting container; empty: it does not wait. */
  reason: string;
  message: string;
}

/** Lists the containers. Init containers come first, because they must end before the others start. */
export function containersOf({ pod }: PodScene): Container[] {
  const of = (statuses: ContainerFact[] = [], title: string, field: Container["field"]): Container[] =>
    statuses.map((status) => ({
      status,
      title: `${title} "${status.name}"`,
      field,
      reason: status.state?.waiting?.reason ?? "",
      message: status.state?.waiting?.message ?? "",
    }));
  return [
    ...of(pod.status?.initContainerStatuses, "init container", "initContainers[]"),
    ...of(pod.status?.containerStatuses, "container", "containers[]"),
  ];
}

/** Returns the reason and message of a waiting container as evidence. */
export function waitingEvidence({ podRef }: PodScene, { status, reason, message }: Container): Evidence {
  const where = `status.containerStatuses[${status.name}].state.waiting`;
  return { object: podRef, where, text: message === "" ? reason : `${reason}: ${message}` };
}
