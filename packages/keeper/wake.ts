/** Requeues objects that were lost in Metacontroller's queue: an annotation makes Metacontroller sync the object. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/requests.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { createProgress, type Progress, type Waited } from "./progress.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";

/**
 * When to requeue a lost object, in milliseconds since it began to wait. The intervals grow. Without this, a hook that
 * is back would wait long: Metacontroller doubles its delay after each failed call, up to a quarter of an hour, and
 * retries only ten failed objects per second.
 */
const WAKE_MS = [6000, 12_000, 30_000, 60_000, 120_000, 300_000] as const;
const LATER_MS = 600_000;
/**
 * When to requeue a Sandbox that waits for its Pod, once, in milliseconds since it became not Ready. Most become Ready
 * by themselves.
 */
const NOT_READY_MS = 12_000;

/** The state in which an object waits. */
interface Wait extends Waited {
  /** When to requeue the object if it was lost, in milliseconds since the epoch. */
  due: number;
}

/**
 * Creates the reconciler for Sandboxes. It requeues a Sandbox repeatedly if it has no conditions, or if its status is
 * of an older generation. It requeues a Sandbox that waits for its Pod once: if two Metacontrollers run at the same
 * time, the older of two views may remain, and a change of status alone causes no sync. It sends no request for a
 * Sandbox that only waits in a queue.
 */
export function sandboxWakeReconciler(api: Api): Reconciler<Sandbox> {
  return wakeReconciler(api, {
    ...{ kind: "Sandbox", resource: "sandboxes" },
    waitOf(sandbox, seenAt) {
      const { metadata, status } = sandbox;
      const born = Date.parse(metadata.creationTimestamp ?? "");
      const isSilent = (status?.conditions ?? []).length === 0 && !Number.isNaN(born);
      if (isSilent) return { for: "first status", began: born, due: wakeTime(metadata, born) };
      if (isBehind(sandbox)) {
        return { for: "status of the generation", began: seenAt, due: wakeTime(metadata, seenAt) };
      }
      const ready = findCondition(status?.conditions, "Ready");
      if (ready?.reason !== "DependenciesNotReady") return undefined;
      const began = Date.parse(ready.lastTransitionTime);
      const due = began + NOT_READY_MS;
      return { for: "Ready", began, due: wokenAt(metadata) >= due ? Infinity : due };
    },
  });
}

/** Creates the reconciler for pools. It requeues a pool that has no status, or whose status is of an older generation. */
export function poolWakeReconciler(api: Api): Reconciler<SandboxWarmPool> {
  return wakeReconciler(api, {
    ...{ kind: "SandboxWarmPool", resource: "sandboxwarmpools" },
    waitOf(pool, seenAt) {
      const isSilent = pool.status === undefined;
      if (!isSilent && !isBehind(pool)) return undefined;
      const reason = isSilent ? "first status" : "status of the generation";
      return { for: reason, began: seenAt, due: wakeTime(pool.metadata, seenAt) };
    },
  });
}

/**
 * Metacontroller writes `observedGeneration` with each answer to the parent of a CompositeController, unless the CRD
 * prunes the field.
 */
function isBehind(parent: Sandbox | SandboxWarmPool): boolean {
  return (parent.status?.observedGeneration ?? Infinity) < (parent.metadata.generation ?? 0);
}

/** Returns the next time to requeue an object that has waited since `began`. */
export function wakeTime(metadata: Pick<ObjectMeta, "annotations">, began: number): number {
  const woken = wokenAt(metadata);
  const next = WAKE_MS.find((ms) => !(woken >= began + ms)) ?? (Math.floor((woken - began) / LATER_MS) + 1) * LATER_MS;
  return began + next;
}

/** When the object was last requeued, in milliseconds since the epoch; NaN: never. */
export function wokenAt({ annotations }: Pick<ObjectMeta, "annotations">): number {
  return Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "");
}

/** A kind whose objects are requeued. */
interface Waking<T> {
  kind: string;
  resource: ObjectPath["resource"];
  /**
   * Returns how an object waits; undefined: it does not. This process first saw it waiting at `seenAt`, in milliseconds
   * since the epoch. The annotation is a time in RFC 3339 with milliseconds. Not called for an object that is being
   * deleted.
   */
  waitOf(object: T, seenAt: number): Wait | undefined;
}

/** `done`: the version that was annotated. */
interface Known extends Waited {
  seenAt: number;
  done?: string | undefined;
}

function wakeReconciler<T extends { metadata: ObjectMeta }>(api: Api, waking: Waking<T>): Reconciler<T> {
  const { kind, resource } = waking;
  const memory = new Map<string, Known>();
  let progress: Progress | undefined;
  return {
    name: `waking of ${kind}`,
    memory,
    listing() {
      for (const known of memory.values()) known.done = undefined;
    },
    dueAt(object, now) {
      progress ??= createProgress(now);
      const { uid = "", deletionTimestamp, resourceVersion } = object.metadata;
      const known = memory.get(uid);
      const seenAt = known?.seenAt ?? now;
      const wait = deletionTimestamp === undefined ? waking.waitOf(object, seenAt) : undefined;
      const isAnswered = wait?.began !== known?.began || wait?.for !== known?.for;
      if (known && deletionTimestamp === undefined && isAnswered) progress.answered(known, now);
      if (!wait) {
        memory.delete(uid);
        return undefined;
      }
      const { began, due } = wait;
      memory.set(uid, { for: wait.for, seenAt, began, done: known?.done });
      if (due === Infinity || (known?.done !== undefined && known.done === resourceVersion)) return undefined;
      return due > now ? due : Math.max(due, progress.wakeableFrom(wait));
    },
    async reconcile(object, now) {
      const { metadata } = object;
      const { uid = "", resourceVersion: done } = metadata;
      const annotations = { [WOKEN_AT_ANNOTATION]: new Date(now).toISOString() };
      await sendPatch(api, { kind, resource, metadata }, patchOf(metadata, { annotations }));
      const known = memory.get(uid);
      if (!known) return;
      progress?.woken(known, now);
      memory.set(uid, { ...known, done });
    },
  };
}
