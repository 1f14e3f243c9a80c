/** Wakes the hook of an object that nothing else has asked about in time: an annotation has Metacontroller sync it. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "./reconciler.ts";

/**
 * When an object is woken whose hook does not answer, in milliseconds from when that began: most have been answered by the
 * first, and of many that were asked for at once none should cost a write more while all are busy. Then more and more
 * seldom: Metacontroller waits twice as long after each call that failed, up to a quarter of an hour, and tries ten a second
 * again of all that failed; a hook that is back is not to wait for that.
 */
const WAKE_MS = [6000, 12_000, 30_000, 60_000, 120_000, 300_000] as const;
const LATER_MS = 600_000;
/** When a Sandbox is woken that waits for its Pod, once, in milliseconds since it is not Ready: most become so by themselves. */
const NOT_READY_MS = 12_000;
/** So much later for each other one that waits, and no later than that. */
const CROWD_MS = { each: 50, most: 10_000 };

/**
 * Makes the reconciler for Sandboxes: one without conditions is woken again and again, and so is one whose status is not of
 * its generation. One that waits for its Pod is woken once: two engines at once can leave it the older of two views, and
 * nobody is called for a change of status. One that is answered in time costs no request.
 */
export function sandboxWakeReconciler(api: Api): Reconciler<Sandbox> {
  return wakeReconciler(api, {
    ...{ kind: "Sandbox", resource: "sandboxes" },
    dueAt(sandbox, seenAt, crowd) {
      const { metadata, status } = sandbox;
      const born = Date.parse(metadata.creationTimestamp ?? "");
      const isSilent = (status?.conditions ?? []).length === 0 && !Number.isNaN(born);
      if (isSilent) return wakeTime(metadata, born, crowd);
      if (isBehind(sandbox)) return wakeTime(metadata, seenAt, crowd);
      const ready = findCondition(status?.conditions, "Ready");
      if (ready?.reason !== "DependenciesNotReady") return undefined;
      const due = Date.parse(ready.lastTransitionTime) + NOT_READY_MS;
      return wokenAt(metadata) >= due ? undefined : due + crowdMs(crowd);
    },
  });
}

/** Makes the reconciler for pools: one is woken that has no status, or whose status is not of its generation. */
export function poolWakeReconciler(api: Api): Reconciler<SandboxWarmPool> {
  return wakeReconciler(api, {
    ...{ kind: "SandboxWarmPool", resource: "sandboxwarmpools" },
    dueAt(pool, seenAt, crowd) {
      const isWaiting = pool.status === undefined || isBehind(pool);
      return isWaiting ? wakeTime(pool.metadata, seenAt, crowd) : undefined;
    },
  });
}

/** Metacontroller writes `observedGeneration` with each answer to the parent of a CompositeController, unless the CRD prunes it. */
function isBehind(parent: Sandbox | SandboxWarmPool): boolean {
  return (parent.status?.observedGeneration ?? Infinity) < (parent.metadata.generation ?? 0);
}

/** When something is woken next that waits since `began`, as one of `crowd` others that may have to be. */
function wakeTime(metadata: ObjectMeta, began: number, crowd: number): number {
  const woken = wokenAt(metadata);
  const next = WAKE_MS.find((ms) => !(woken >= began + ms)) ?? (Math.floor((woken - began) / LATER_MS) + 1) * LATER_MS;
  return began + next + crowdMs(crowd);
}

/** In milliseconds since the epoch; NaN: it never was. */
function wokenAt({ annotations }: ObjectMeta): number {
  return Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "");
}

function crowdMs(crowd: number): number {
  return Math.min(CROWD_MS.most, crowd * CROWD_MS.each);
}

/** A kind whose hooks are woken. Times are in milliseconds since the epoch. */
interface Waking<T> {
  kind: string;
  resource: ObjectPath["resource"];
  /**
   * When an object is to be annotated that this process first saw waiting at `seenAt`, while `crowd` others may have to be;
   * undefined: never. The annotation is a time, RFC 3339 with milliseconds. Not asked of one that is being deleted.
   */
  dueAt(object: T, seenAt: number, crowd: number): number | undefined;
}

function wakeReconciler<T extends { metadata: ObjectMeta }>(api: Api, waking: Waking<T>): Reconciler<T> {
  const { kind, resource } = waking;
  /** When it was first seen waiting, and the version that was annotated. */
  const memory = new Map<string, { seenAt: number; done?: string | undefined }>();
  return {
    name: `waking of ${kind}`,
    memory,
    listing() {
      for (const known of memory.values()) known.done = undefined;
    },
    dueAt(object, now) {
      const { uid = "", deletionTimestamp, resourceVersion } = object.metadata;
      const known = memory.get(uid) ?? { seenAt: now };
      const others = memory.size - (memory.has(uid) ? 1 : 0);
      const due = deletionTimestamp === undefined ? waking.dueAt(object, known.seenAt, others) : undefined;
      if (due === undefined) memory.delete(uid);
      else memory.set(uid, known);
      return known.done !== undefined && known.done === resourceVersion ? undefined : due;
    },
    async reconcile(object, now) {
      const { metadata } = object;
      const { uid = "", resourceVersion: done } = metadata;
      const { seenAt } = memory.get(uid) ?? { seenAt: now };
      const annotations = { [WOKEN_AT_ANNOTATION]: new Date(now).toISOString() };
      await sendPatch(api, { kind, resource, metadata }, patchOf(metadata, { annotations }));
      memory.set(uid, { seenAt, done });
    },
  };
}
