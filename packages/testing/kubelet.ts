/** A fake scheduler, kubelet and volume binder: Pods start, become Ready, fail, hang, and take time to stop. @module */
import { currentOf, type MemoryStore, resourceOf } from "./store/memory.ts";
import { rfc3339 } from "../api/objects/conditions.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { KUBELET_FINALIZER } from "./admission.ts";
import { faultWords, isRestarted, type PodFate } from "./podfaults.ts";
import { type PodStage, podStatus } from "./podstatus.ts";

/** Name and address of the only node. */
const NODE = { name: "node-1", ip: "192.168.0.1" };
const SCHEDULE_MS = 1;
const START_MS = 20;
const READY_MS = 10;
const STOP_MS = 120;

export interface Kubelet {
  /** Puts a running Pod into another stage, at once. */
  show(pod: KubeObject, stage: PodStage): Promise<void>;
}

/** Starts the kubelet. @param fateOf called once for each Pod, in order of creation; undefined: the Pod has no fault */
export async function startKubelet(
  store: MemoryStore,
  fateOf: (pod: KubeObject) => PodFate | undefined,
): Promise<Kubelet> {
  const addresses = new Map<string, string>();
  const going = new Set<string>();

  async function show(pod: KubeObject, stage: PodStage): Promise<void> {
    const live = currentOf(store, pod);
    if (!live || live.metadata.deletionTimestamp) return;
    const facts = { ip: addresses.get(live.metadata.uid ?? "") ?? "", hostIP: NODE.ip, now: timeOf(store) };
    const spec = stage.stage === "unschedulable" ? live["spec"] : { ...live["spec"] as object, nodeName: NODE.name };
    await store.put({ ...live, spec, status: podStatus(live, stage, facts) });
  }

  function see(pod: KubeObject): void {
    const { uid = "", deletionTimestamp } = pod.metadata;
    if (!addresses.has(uid)) {
      addresses.set(uid, `10.0.${addresses.size >> 8}.${(addresses.size & 255) + 1}`);
      live(store, pod, fateOf(pod) ?? {}, show);
    }
    if (!deletionTimestamp || going.has(uid)) return;
    going.add(uid);
    store.clock.setTimeout(() => void release(store, pod), STOP_MS);
  }

  await store.put({ apiVersion: "v1", kind: "Node", metadata: { name: NODE.name }, status: nodeStatus(timeOf(store)) });
  follow(store, "Pod", see);
  follow(store, "PersistentVolumeClaim", (claim) => void bind(store, claim));
  return { show };
}

/** Schedules the stages of a Pod's life. */
function live(store: MemoryStore, pod: KubeObject, fate: PodFate, show: Kubelet["show"]): void {
  const { startMs = START_MS, readyMs = READY_MS, fault, afterMs, message = fault && faultWords(pod, fault) } = fate;
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

function follow(store: MemoryStore, kind: string, see: (object: KubeObject) => void): void {
  const replace = (objects: KubeObject[]) => objects.forEach(see);
  store.watch(resourceOf(store, kind), { replace, changed: see, deleted: () => {} });
}

async function bind(store: MemoryStore, claim: KubeObject): Promise<void> {
  const live = currentOf(store, claim);
  const { phase } = (live?.["status"] ?? {}) as { phase?: string };
  if (!live || phase === "Bound" || live.metadata.deletionTimestamp) return;
  const spec = live["spec"] as { accessModes?: string[]; resources?: { requests?: object } };
  const { accessModes, resources } = spec;
  const volumeName = `pvc-${live.metadata.uid}`;
  const status = { phase: "Bound", accessModes, capacity: resources?.requests };
  await store.put({ ...live, spec: { ...spec, volumeName }, status });
}

async function release(store: MemoryStore, pod: KubeObject): Promise<void> {
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
