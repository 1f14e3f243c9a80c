/** A fake scheduler, kubelet and volume binder: Pods start, become Ready, fail, hang, and take time to stop. @module */
import { rfc3339 } from "../api/objects/conditions.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { KUBELET_FINALIZER } from "./server.ts";
import { currentOf, type MemoryStore, resourceOf } from "./store/memory.ts";

export interface Kubelet {
  /** Puts a running Pod into another stage, at once. */
  show(pod: KubeObject, stage: PodStage): Promise<void>;
}

/**
 * What goes wrong with a Pod.
 *
 * | fault | effect |
 * |---|---|
 * | `unschedulable` | no node has room for it: PodScheduled is False |
 * | `image` | its image cannot be pulled: ImagePullBackOff |
 * | `config` | a container cannot be created, for example without its Secret: CreateContainerConfigError |
 * | `probe` | it runs, but never becomes Ready |
 * | `crash` | its containers end with an error: CrashLoopBackOff, or Failed if nothing restarts them |
 * | `ends` | its containers end without an error: Succeeded, if nothing restarts them |
 * | `fails` | it becomes Failed, whatever its restart policy: its node evicts it |
 * | `hangs` | nothing happens: no kubelet sees it |
 */
export type PodFault = "unschedulable" | "image" | "config" | "probe" | "crash" | "ends" | "fails" | "hangs";

/** What happens to a Pod; times in milliseconds. */
export interface PodFate {
  /** Time from its creation until it has an address. @default 20 */
  startMs?: number;
  /** Time from the address until it is Ready. @default 10 */
  readyMs?: number;
  /** Absent: the Pod has no fault. */
  fault?: PodFault | undefined;
  /** For `crash`, `ends` and `fails`: how long it is Ready before the fault. Absent: it never becomes Ready. */
  afterMs?: number;
  /** Message of the scheduler or kubelet about the fault. */
  message?: string;
}

/** The stages of a Pod. `waiting` has the kubelet's reason and message. */
type PodStage =
  | { stage: "scheduled" }
  | { stage: "unschedulable"; message: string }
  | { stage: "waiting"; reason: string; message: string; restarts?: number; exitCode?: number }
  | { stage: "started" }
  | { stage: "ready" }
  | { stage: "ended"; phase: "Failed" | "Succeeded"; reason?: string; message?: string; exitCode?: number };

/** Name and address of the only node. */
const NODE = { name: "node-1", ip: "192.168.0.1" };
const SCHEDULE_MS = 1;
const START_MS = 20;
const READY_MS = 10;
const STOP_MS = 120;

/** Starts the kubelet. @param fateOf called once for each Pod, in order of creation; undefined: the Pod has no fault */
export async function startKubelet(
  store: MemoryStore,
  fateOf: (pod: KubeObject) => PodFate | undefined,
): Promise<Kubelet> {
  const addresses = new Map<string, string>();
  const stopping = new Set<string>();

  async function show(pod: KubeObject, stage: PodStage): Promise<void> {
    const live = currentOf(store, pod);
    if (!live || live.metadata.deletionTimestamp) return;
    const facts = { ip: addresses.get(live.metadata.uid ?? "") ?? "", hostIP: NODE.ip, now: timeOf(store) };
    const spec = stage.stage === "unschedulable" ? live["spec"] : { ...live["spec"] as object, nodeName: NODE.name };
    await store.put({ ...live, spec, status: podStatus(live, stage, facts) });
  }

  function onChange(pod: KubeObject): void {
    const { uid = "", deletionTimestamp } = pod.metadata;
    if (!addresses.has(uid)) {
      addresses.set(uid, `10.0.${addresses.size >> 8}.${(addresses.size & 255) + 1}`);
      scheduleStages(store, pod, fateOf(pod) ?? {}, show);
    }
    if (!deletionTimestamp || stopping.has(uid)) return;
    stopping.add(uid);
    store.clock.setTimeout(() => void endPod(store, pod), STOP_MS);
  }

  await store.put({ apiVersion: "v1", kind: "Node", metadata: { name: NODE.name }, status: nodeStatus(timeOf(store)) });
  watchKind(store, "Pod", onChange);
  watchKind(store, "PersistentVolumeClaim", (claim) => void bindVolume(store, claim));
  return { show };
}

/** Returns the stage of a Pod with this fault. */
export function stageOf(pod: KubeObject, fault: NonNullable<PodFate["fault"]>, message: string): PodStage | undefined {
  const crash: PodStage = { stage: "waiting", reason: "CrashLoopBackOff", message, restarts: 1 };
  switch (fault) {
    case "image":
      return { stage: "waiting", reason: "ImagePullBackOff", message };
    case "config":
      return { stage: "waiting", reason: "CreateContainerConfigError", message };
    case "probe":
      return { stage: "started" };
    case "crash":
      return isRestarted(pod, 1) ? { ...crash, exitCode: 1 } : { stage: "ended", phase: "Failed" };
    case "ends":
      return isRestarted(pod, 0) ? { ...crash, exitCode: 0 } : { stage: "ended", phase: "Succeeded" };
    case "fails":
      return { stage: "ended", phase: "Failed", reason: "Evicted", message };
    default:
      return undefined;
  }
}

/** Returns the default message of a fault. */
export function defaultMessage(pod: KubeObject, fault: PodFault): string {
  const [{ name = "main", image = "" } = {}] = containersOf(pod);
  const messages: Partial<Record<PodFault, string>> = {
    unschedulable: "0/1 nodes are available: 1 Insufficient cpu.",
    image: `Back-off pulling image "${image}"`,
    config: 'secret "absent" not found',
    crash: `back-off 10s restarting failed container=${name}`,
    fails: "The node was low on resource: memory.",
  };
  return messages[fault] ?? "";
}

/** Schedules the stages of a Pod's life. */
function scheduleStages(store: MemoryStore, pod: KubeObject, fate: PodFate, show: Kubelet["show"]): void {
  const { startMs = START_MS, readyMs = READY_MS, fault, afterMs, message = fault && defaultMessage(pod, fault) } =
    fate;
  const later = (milliseconds: number, stage: PodStage) =>
    void store.clock.setTimeout(() => void show(pod, stage), milliseconds);
  if (fault === "hangs") return;
  if (fault === "unschedulable") return later(SCHEDULE_MS, { stage: "unschedulable", message: message ?? "" });
  if (startMs > SCHEDULE_MS) later(SCHEDULE_MS, { stage: "scheduled" });
  const ended = fault && stageOf(pod, fault, message ?? "");
  if (fault === "image" || fault === "config") return ended && later(startMs, ended);
  later(startMs, { stage: "started" });
  if (fault === "probe") return;
  if (!ended || afterMs !== undefined) later(startMs + readyMs, { stage: "ready" });
  if (ended) later(startMs + readyMs + (afterMs ?? 0), ended);
}

function watchKind(store: MemoryStore, kind: string, onChange: (object: KubeObject) => void): void {
  const replace = (objects: KubeObject[]) => objects.forEach(onChange);
  store.watch(resourceOf(store, kind), { replace, changed: onChange, deleted: () => {} });
}

async function bindVolume(store: MemoryStore, claim: KubeObject): Promise<void> {
  const live = currentOf(store, claim);
  const { phase } = (live?.["status"] ?? {}) as { phase?: string };
  if (!live || phase === "Bound" || live.metadata.deletionTimestamp) return;
  const spec = live["spec"] as { accessModes?: string[]; resources?: { requests?: object } };
  const { accessModes, resources } = spec;
  const volumeName = `pvc-${live.metadata.uid}`;
  const status = { phase: "Bound", accessModes, capacity: resources?.requests };
  await store.put({ ...live, spec: { ...spec, volumeName }, status });
}

async function endPod(store: MemoryStore, pod: KubeObject): Promise<void> {
  const live = currentOf(store, pod);
  if (!live) return;
  const finalizers = (live.metadata["finalizers"] ?? []) as string[];
  const left = finalizers.filter((finalizer) => finalizer !== KUBELET_FINALIZER);
  await store.put({ ...live, metadata: { ...live.metadata, finalizers: left } });
}

function nodeStatus(now: string): object {
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", lastTransitionTime: now }];
  return { conditions, addresses: [{ type: "InternalIP", address: NODE.ip }] };
}

function timeOf({ clock }: MemoryStore): string {
  return rfc3339(new Date(clock.now()));
}

/** Tells whether the kubelet restarts containers that ended with this exit code. */
function isRestarted(pod: KubeObject, exitCode: number): boolean {
  const { restartPolicy = "Always" } = pod["spec"] as { restartPolicy?: string };
  return restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
}

/** Returns the containers in a Pod's spec. */
export function containersOf(pod: KubeObject): { name?: string; image?: string }[] {
  return (pod["spec"] as { containers?: { name?: string; image?: string }[] } | undefined)?.containers ?? [];
}

/** The parts of a status that are the same in all stages. */
interface PodFacts {
  ip: string;
  hostIP: string;
  /** In RFC 3339. */
  now: string;
}

/** Returns the status of a Pod at a stage. */
function podStatus(pod: KubeObject, stage: PodStage, facts: PodFacts): object {
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
      const reasons = { ...(reason && { reason }), ...(message && { message }) };
      return { phase, ...reasons, conditions, ...addresses, containerStatuses: containers(pod, false, { terminated }) };
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
