/** What a kubelet says of a Pod at each stage of its life. Pure. @module */
import type { KubeObject } from "../lib/objects.ts";

/** The stages that a Pod is shown in. `waiting` says for what, as the kubelet words it. */
export type PodStage =
  | { stage: "scheduled" }
  | { stage: "unschedulable"; message: string }
  | { stage: "waiting"; reason: string; message: string; restarts?: number; exitCode?: number }
  | { stage: "started" }
  | { stage: "ready" }
  | { stage: "ended"; phase: "Failed" | "Succeeded"; reason?: string; message?: string; exitCode?: number };

/** What stays the same in all stages. */
export interface PodFacts {
  ip: string;
  hostIP: string;
  /** RFC 3339. */
  now: string;
}

/** Returns the status of a Pod at a stage. */
export function podStatus(pod: KubeObject, stage: PodStage, { ip, hostIP, now }: PodFacts): object {
  const addresses = { podIP: ip, podIPs: [{ ip }], hostIP, startTime: now };
  const conditions = (scheduled: object, ready: boolean) => [
    { type: "PodScheduled", lastTransitionTime: now, ...scheduled },
    { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: now },
  ];
  const on = { status: "True" };
  switch (stage.stage) {
    case "scheduled":
      return { phase: "Pending", conditions: conditions(on, false), hostIP, startTime: now };
    case "unschedulable": {
      const { message } = stage;
      const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
      return { phase: "Pending", conditions: [{ ...condition, lastTransitionTime: now }] };
    }
    case "waiting": {
      const { reason, message, restarts = 0, exitCode } = stage;
      const lastState = exitCode === undefined ? {} : { terminated: { exitCode, reason: "Error", finishedAt: now } };
      const containerStatuses = containers(pod, false, { waiting: { reason, message } }, restarts, lastState);
      const isRestarting = restarts > 0;
      return {
        phase: isRestarting ? "Running" : "Pending",
        conditions: conditions(on, false),
        ...addresses,
        containerStatuses,
      };
    }
    case "started":
    case "ready": {
      const ready = stage.stage === "ready";
      const containerStatuses = containers(pod, ready, { running: { startedAt: now } }, 0, {});
      return { phase: "Running", conditions: conditions(on, ready), ...addresses, containerStatuses };
    }
    case "ended": {
      const { phase, exitCode = phase === "Failed" ? 1 : 0, reason, message } = stage;
      const terminated = { exitCode, reason: phase === "Failed" ? "Error" : "Completed", finishedAt: now };
      const containerStatuses = containers(pod, false, { terminated }, 0, {});
      const words = { ...(reason && { reason }), ...(message && { message }) };
      return { phase, ...words, conditions: conditions(on, false), ...addresses, containerStatuses };
    }
  }
}

function containers(pod: KubeObject, ready: boolean, state: object, restartCount: number, lastState: object): object[] {
  const { containers = [] } = (pod["spec"] ?? {}) as { containers?: { name: string; image?: string }[] };
  return containers.map(({ name, image = "" }) => ({
    name,
    image,
    imageID: "",
    ready,
    started: "running" in state,
    restartCount,
    state,
    lastState,
  }));
}
