/** The containers of a Pod as rules go through them: init containers first, each with its words and evidence. Pure. @module */
import type { Evidence } from "./finding.ts";
import type { ContainerFact } from "./podfact.ts";
import type { PodScene } from "./scene.ts";

export interface Container {
  status: ContainerFact;
  /** `container "main"` or `init container "setup"`. */
  title: string;
  /** Field of the Pod's spec that holds it. */
  field: "containers[]" | "initContainers[]";
  /** Reason and message of a waiting container; empty if it does not wait. */
  reason: string;
  message: string;
}

/** Lists the containers, those first that have to end before the others start. */
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

/** Writes down what a waiting container says. */
export function waitingEvidence({ podRef }: PodScene, { status, reason, message }: Container): Evidence {
  const where = `status.containerStatuses[${status.name}].state.waiting`;
  return { object: podRef, where, text: message === "" ? reason : `${reason}: ${message}` };
}
