/** The status that a kubelet sets at each stage of a Pod's life. Pure. @module */
import type { KubeObject } from "../api/objects/objects.ts";

/** The stages of a Pod. `waiting` has the kubelet's reason and message. */
export type PodStage =
  | { stage: "scheduled" }
  | { stage: "unschedulable"; message: string }
  | { stage: "waiting"; reason: string; message: string; restarts?: number; exitCode?: number }
  | { stage: "started" }
  | { stage: "ready" }
  | { stage: "ended"; phase: "Failed" | "Succeeded"; reason?: string; message?: string; exitCode?: number };

/** The parts of a status that are the same in all stages. */
export interface PodFacts {
  ip: string;
  hostIP: string;
  /** In RFC 3339. */
  now: string;
}

/** Returns the status of a Pod at a stage. */
export function podStatus(pod: KubeObject, stage: PodStage, facts: PodFacts): object {
  const { ip, hostIP, now } = facts;
  const addresses = { podIP: ip, podIPs: [{ ip }], hostIP, startTime: now };
  const conditions = conditionsAt(stage, now);
  switch (stage.stage) {
    case "unschedulable":
      return { phase: "Pending", conditions };
    case "scheduled":
      return { phase: "Pending", conditions, hostIP, startTime: now };
    case "waiting": {
      const { reason, message, restarts = 0, exitCode } = stage;
      const lastState = exitCode === undefined ? {} : { terminated: { exitCode, reason: "Error", finishedAt: now } };
      const containerStatuses = containers(pod, false, { waiting: { reason, message } }, restarts, lastState);
      return { phase: restarts > 0 ? "Running" : "Pending", conditions, ...addresses, containerStatuses };
    }
    case "started":
    case "ready": {
      const containerStatuses = containers(pod, stage.stage === "ready", { running: { startedAt: now } });
      return { phase: "Running", conditions, ...addresses, containerStatuses };
    }
    case "ended": {
      const { phase, exitCode = phase === "Failed" ? 1 : 0, reason, message } = stage;
      const terminated = { exitCode, reason: phase === "Failed" ? "Error" : "Completed", finishedAt: now };
      const words = { ...(reason && { reason }), ...(message && { message }) };
      return { phase, ...words, conditions, ...addresses, containerStatuses: containers(pod, false, { terminated }) };
    }
  }
}

function conditionsAt(stage: PodStage, lastTransitionTime: string): object[] {
  const isReady = stage.stage === "ready" ? "True" : "False";
  if (stage.stage === "unschedulable") {
    const { message } = stage;
    return [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime }];
  }
  return [
    { type: "PodScheduled", status: "True", lastTransitionTime },
    { type: "Ready", status: isReady, lastTransitionTime },
  ];
}

function containers(
  pod: KubeObject,
  ready: boolean,
  state: object,
  restartCount = 0,
  lastState: object = {},
): object[] {
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
