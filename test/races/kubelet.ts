/** Plays scheduler and kubelet: Pods start, become Ready, fail, hang, and take a while to go. @module */
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { findObject, KUBELET_FINALIZER } from "./api.ts";

/** What becomes of a Pod; milliseconds from its creation to its address, from there to Ready, from there to its end. */
export interface Fate {
  startMs: number;
  probeMs: number;
  /** `ready` stays so, `fails` fails instead of becoming Ready, `dies` fails after it was, `hangs` never starts. */
  fate: "ready" | "fails" | "dies" | "hangs";
  lifeMs: number;
}

export interface Kubelet {
  /** UIDs of Pods that failed or hang. */
  sick: ReadonlySet<string>;
}

const GOOD: Fate = { startMs: 20, probeMs: 10, fate: "ready", lifeMs: 0 };
const STOP_MS = 120;

/** Starts it. Pods meet their fates in order of creation; when these are used up all is well. */
export async function startKubelet(store: MemoryStore, fates: readonly Fate[]): Promise<Kubelet> {
  const known = new Set<string>();
  const sick = new Set<string>();
  const left = [...fates];
  let addresses = 0;

  function begin(pod: KubeObject): void {
    const { startMs, probeMs, fate, lifeMs } = left.shift() ?? GOOD;
    const ip = `10.0.${addresses >> 8}.${++addresses & 255}`;
    const running = { phase: "Running", podIPs: [{ ip }] };
    const later = (milliseconds: number, status: object) =>
      store.clock.setTimeout(() => void setStatus(store, pod, status), milliseconds);
    if (fate !== "ready") sick.add(pod.metadata.uid ?? "");
    if (fate === "hangs") return;
    later(startMs, { ...running, conditions: conditions("False") });
    if (fate === "fails") return void later(startMs + probeMs, { ...running, phase: "Failed", conditions: [] });
    later(startMs + probeMs, { ...running, conditions: conditions("True") });
    if (fate === "dies") later(startMs + probeMs + lifeMs, { ...running, phase: "Failed", conditions: [] });
  }

  function see(pod: KubeObject): void {
    const { uid = "", deletionTimestamp } = pod.metadata;
    if (!known.has(uid)) begin(pod);
    known.add(uid);
    const going = `${uid} is going`;
    if (!deletionTimestamp || known.has(going)) return;
    known.add(going);
    store.clock.setTimeout(() => void release(store, pod), STOP_MS);
  }

  store.watch(await store.kind("v1", "Pod"), { replace: (pods) => pods.forEach(see), changed: see, deleted: () => {} });
  return { sick };
}

function conditions(ready: "True" | "False"): object[] {
  return [{ type: "PodScheduled", status: "True" }, { type: "Ready", status: ready }];
}

function liveOf(store: MemoryStore, { kind, metadata }: KubeObject): KubeObject | undefined {
  const live = findObject(store, kind, metadata.name);
  return live?.metadata.uid === metadata.uid ? live : undefined;
}

async function setStatus(store: MemoryStore, pod: KubeObject, status: object): Promise<void> {
  const live = liveOf(store, pod);
  if (live && !live.metadata.deletionTimestamp) await store.put({ ...live, status });
}

async function release(store: MemoryStore, pod: KubeObject): Promise<void> {
  const live = liveOf(store, pod);
  const finalizers = (live?.metadata["finalizers"] ?? []) as string[];
  if (!live) return;
  const left = finalizers.filter((finalizer) => finalizer !== KUBELET_FINALIZER);
  await store.put({ ...live, metadata: { ...live.metadata, finalizers: left } });
}
