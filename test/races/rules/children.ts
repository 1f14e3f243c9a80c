/** What becomes of the Pods and volumes of a Sandbox, and of its spec. @module */
import { findByName, type MemoryStore, objectsOf, type StoredChange } from "../../../packages/testing/store/memory.ts";
import { sameJson } from "../../../packages/api/objects/apply.ts";
import { controllerOf, type KubeObject } from "../../../packages/api/objects/objects.ts";
import { isSuspended, LATE_MS } from "../shown.ts";
import type { Notice, Say } from "../surroundings.ts";

/** A Sandbox has one Pod at a time that is neither ended nor being deleted. */
export function podRule(say: Say): (change: StoredChange) => void {
  const owners = new Map<string, string>();
  return ({ object, isGone }) => {
    if (object.kind !== "Pod") return;
    const { uid = "", name, deletionTimestamp } = object.metadata;
    const { phase = "" } = (object["status"] ?? {}) as { phase?: string };
    const owner = controllerOf(object.metadata);
    if (isGone || deletionTimestamp || ["Failed", "Succeeded"].includes(phase) || owner?.kind !== "Sandbox") {
      return void owners.delete(uid);
    }
    const others = [...owners].filter(([other, sandbox]) => other !== uid && sandbox === owner.uid);
    if (!owners.has(uid) && others.length > 0) say(`Sandbox ${owner.name} has Pod ${name} and another one`);
    owners.set(uid, owner.uid);
  };
}

/** A volume goes with its Sandbox, never before. */
export function volumeRule(store: MemoryStore, say: Say): (change: StoredChange) => void {
  return ({ object, old, isGone }) => {
    if (object.kind !== "PersistentVolumeClaim" || old?.metadata.deletionTimestamp) return;
    if (!isGone && !object.metadata.deletionTimestamp) return;
    const owner = controllerOf(object.metadata);
    const sandbox = owner && findByName(store, owner.kind, owner.name);
    if (sandbox?.metadata.uid !== owner?.uid || sandbox?.metadata.deletionTimestamp) return;
    say(`volume ${object.metadata.name} was deleted, and not with its Sandbox`);
  };
}

/**
 * What a Sandbox's spec says stays, but for its Pod's metadata; a Pod's stays whole, and a Pod unless it is suspended, or
 * was a moment ago, which is what a late view shows.
 */
export function specRule(store: MemoryStore, say: Say): Notice {
  const suspendedAt = new Map<string, number>();
  return (before, after, verb) => {
    for (const sandbox of objectsOf(store, "Sandbox").filter(isSuspended)) {
      suspendedAt.set(sandbox.metadata.name, store.clock.now());
    }
    const { kind = "", metadata } = before ?? {};
    if (kind === "Pod" && verb === "delete") {
      const sandbox = findByName(store, "Sandbox", metadata?.name ?? "");
      const { operatingMode } = (sandbox?.["spec"] ?? {}) as { operatingMode?: string };
      const sinceMs = store.clock.now() - (suspendedAt.get(metadata?.name ?? "") ?? -Infinity);
      if (operatingMode === "Running" && sinceMs > LATE_MS) {
        say(`Pod ${metadata?.name} was deleted though its Sandbox runs`);
      }
    }
    if (!before || !after || verb !== "update" || (kind !== "Sandbox" && kind !== "Pod")) return;
    if (!sameJson(lastingSpec(before), lastingSpec(after))) say(`the spec of ${kind} ${metadata?.name} was changed`);
  };
}

function lastingSpec({ spec }: KubeObject): object {
  const { podTemplate, ...rest } = spec as { podTemplate?: { metadata?: object } };
  const { metadata: _, ...lasting } = podTemplate ?? {};
  return { ...rest, podTemplate: lasting };
}
