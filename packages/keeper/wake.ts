/** Wakes the hook of an object that nothing else has asked about in time: an annotation has Metacontroller sync it. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { LATE_MS } from "../api/claims/unserved.ts";
import type { Api, ObjectPath } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { FIRST_OBSERVED_ANNOTATION, WOKEN_AT_ANNOTATION } from "../api/objects/keys.ts";
import type { ObjectMeta } from "../api/objects/objects.ts";
import type { Reconciler } from "./reconciler.ts";

/**
 * When a Sandbox that says nothing is woken, in milliseconds from its creation: most have come up by the first, and of many
 * that were asked for at once none should cost a write more while all are busy. Then more and more seldom: Metacontroller
 * waits twice as long after each call that failed, up to a quarter of an hour, and a hook that is back is not to wait for that.
 */
const WAKE_MS = [6000, 12_000, 30_000, 60_000, 120_000, 300_000] as const;
const LATER_MS = 600_000;
/** So much later for each other one that says nothing, and no later than that. */
const CROWD_MS = { each: 50, most: 10_000 };

/** Makes the reconciler for claims: one that nobody has annotated for ten seconds gets the time at which this process first saw it. */
export function claimWakeReconciler(api: Api): Reconciler<SandboxClaim> {
  return wakeReconciler(api, {
    ...{ kind: "SandboxClaim", resource: "sandboxclaims", annotation: FIRST_OBSERVED_ANNOTATION },
    dueAt({ metadata: { annotations, creationTimestamp = "" } }, seenAt) {
      const isNoted = annotations?.[FIRST_OBSERVED_ANNOTATION] !== undefined;
      return isNoted ? undefined : (Date.parse(creationTimestamp) || seenAt) + LATE_MS;
    },
    time: (seenAt) => seenAt,
  });
}

/** Makes the reconciler for Sandboxes: one without conditions gets the time, again and again. One that speaks in time costs no request. */
export function sandboxWakeReconciler(api: Api): Reconciler<Sandbox> {
  return wakeReconciler(api, {
    ...{ kind: "Sandbox", resource: "sandboxes", annotation: WOKEN_AT_ANNOTATION },
    dueAt({ metadata: { annotations, creationTimestamp = "" }, status }, _, crowd) {
      const born = Date.parse(creationTimestamp);
      if ((status?.conditions ?? []).length > 0 || Number.isNaN(born)) return undefined;
      const woken = Date.parse(annotations?.[WOKEN_AT_ANNOTATION] ?? "");
      const next = WAKE_MS.find((ms) => !(woken >= born + ms)) ??
        (Math.floor((woken - born) / LATER_MS) + 1) * LATER_MS;
      return born + next + Math.min(CROWD_MS.most, crowd * CROWD_MS.each);
    },
    time: (_, now) => now,
  });
}

/** A kind whose controllers are woken. Times are in milliseconds since the epoch. */
interface Waking<T> {
  kind: string;
  resource: ObjectPath["resource"];
  /** Holds a time, RFC 3339 with milliseconds. */
  annotation: string;
  /**
   * When an object is to be annotated that this process first saw at `seenAt`, while `crowd` others may have to be;
   * undefined: never. Not asked of one that is being deleted.
   */
  dueAt(object: T, seenAt: number, crowd: number): number | undefined;
  /** What the annotation says. */
  time(seenAt: number, now: number): number;
}

function wakeReconciler<T extends { metadata: ObjectMeta }>(api: Api, waking: Waking<T>): Reconciler<T> {
  const { kind, resource, annotation } = waking;
  /** When it was first seen, and the version that was annotated. */
  const memory = new Map<string, { seenAt: number; done?: string | undefined }>();
  return {
    name: `waking of ${kind}`,
    memory,
    dueAt(object, now) {
      const { uid = "", deletionTimestamp, resourceVersion } = object.metadata;
      const known = memory.get(uid) ?? { seenAt: now };
      const others = memory.size - (memory.has(uid) ? 1 : 0);
      const due = deletionTimestamp === undefined ? waking.dueAt(object, known.seenAt, others) : undefined;
      if (due === undefined) memory.delete(uid);
      else memory.set(uid, known);
      return known.done !== undefined && known.done === resourceVersion ? undefined : due;
    },
    async reconcile({ metadata }, now) {
      const { uid = "", resourceVersion: done } = metadata;
      const { seenAt } = memory.get(uid) ?? { seenAt: now };
      const time = new Date(waking.time(seenAt, now)).toISOString();
      await sendPatch(api, { kind, resource, metadata }, patchOf(metadata, { annotations: { [annotation]: time } }));
      memory.set(uid, { seenAt, done });
    },
  };
}
