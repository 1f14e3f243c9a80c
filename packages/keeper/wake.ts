/** Wakes the hook of an object that was forgotten in Metacontroller's queue: an annotation has Metacontroller sync it. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import { createProgress, type Progress } from "./progress.ts";
import type { Reconciler } from "./reconciler.ts";

/**
 * When an object that was forgotten is woken, in milliseconds since it began to wait. More and more seldom: Metacontroller
 * waits twice as long after each call that failed, up to a quarter of an hour, and tries ten a second again of all that
 * failed; a hook that is back is not to wait for that.
 */
const WAKE_MS = [6000, 12_000, 30_000, 60_000, 120_000, 300_000] as const;
const LATER_MS = 600_000;
/** When a Sandbox is woken that waits for its Pod, once, in milliseconds since it is not Ready: most become so by themselves. */
const NOT_READY_MS = 12_000;

/** What an object waits for. Times are in milliseconds since the epoch. */
interface Wait {
  /** Only waits for the same are compared: a Pod takes longer to start than a status to be written. */
  for: "first status" | "status of the generation" | "Ready";
  began: number;
  /** When it is woken if it was forgotten. */
  due: number;
}

/**
 * Makes the reconciler for Sandboxes: one without conditions is woken again and again, and so is one whose status is not of
 * its generation. One that waits for its Pod is woken once: two engines at once can leave it the older of two views, and
 * nobody is called for a change of status. One that only waits in a queue costs no request.
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

/** Makes the reconciler for pools: one is woken that has no status, or whose status is not of its generation. */
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

/** Metacontroller writes `observedGeneration` with each answer to the parent of a CompositeController, unless the CRD prunes it. */
function isBehind(parent: Sandbox | SandboxWarmPool): boolean {
  return (parent.status?.observedGeneration ?? Infinity) < (parent.metadata.generation ?? 0);
}

/** When something is woken next that waits since `began`. */
function wakeTime(metadata: ObjectMeta, began: number): number {
  const woken = wokenAt(metadata);
  const next = WAKE_MS.find((ms) => !(woken >= began + ms)) ?? (Math.floor((woken - began) / LATER_MS) + 1) * LATER_MS;
  return began + next;
}

/** In milliseconds since the epoch; NaN: it never was. */
function wokenAt({ annotations }: ObjectMeta): number {
  return Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "");
}

/** A kind whose hooks are woken. */
interface Waking<T> {
  kind: string;
  resource: ObjectPath["resource"];
  /**
   * Returns what an object waits for that this process first saw waiting at `seenAt`, milliseconds since the epoch;
   * undefined: nothing. The annotation is a time, RFC 3339 with milliseconds. Not asked of one that is being deleted.
   */
  waitOf(object: T, seenAt: number): Wait | undefined;
}

/** `done`: the version that was annotated. */
interface Known extends Pick<Wait, "for" | "began"> {
  seenAt: number;
  done?: string | undefined;
}

function wakeReconciler<T extends { metadata: ObjectMeta }>(api: Api, waking: Waking<T>): Reconciler<T> {
  const { kind, resource } = waking;
  const memory = new Map<string, Known>();
  const progresses = new Map<Wait["for"], Progress>();
  let startedAt: number | undefined;
  function progressOf({ for: reason }: Pick<Wait, "for">, now: number): Progress {
    startedAt ??= now;
    const progress = progresses.get(reason) ?? createProgress(startedAt);
    progresses.set(reason, progress);
    return progress;
  }
  return {
    name: `waking of ${kind}`,
    memory,
    listing() {
      for (const known of memory.values()) known.done = undefined;
    },
    dueAt(object, now) {
      startedAt ??= now;
      const { uid = "", deletionTimestamp, resourceVersion } = object.metadata;
      const known = memory.get(uid);
      const seenAt = known?.seenAt ?? now;
      const wait = deletionTimestamp === undefined ? waking.waitOf(object, seenAt) : undefined;
      const isAnswered = wait?.began !== known?.began || wait?.for !== known?.for;
      if (known && deletionTimestamp === undefined && isAnswered) progressOf(known, now).answered(known.began, now);
      if (!wait) {
        memory.delete(uid);
        return undefined;
      }
      const { began, due } = wait;
      memory.set(uid, { for: wait.for, seenAt, began, done: known?.done });
      if (due === Infinity || (known?.done !== undefined && known.done === resourceVersion)) return undefined;
      return due > now ? due : Math.max(due, progressOf(wait, now).wakeableFrom(began));
    },
    async reconcile(object, now) {
      const { metadata } = object;
      const { uid = "", resourceVersion: done } = metadata;
      const annotations = { [WOKEN_AT_ANNOTATION]: new Date(now).toISOString() };
      await sendPatch(api, { kind, resource, metadata }, patchOf(metadata, { annotations }));
      const known = memory.get(uid);
      if (!known) return;
      progressOf(known, now).woken(known.began);
      memory.set(uid, { ...known, done });
    },
  };
}
