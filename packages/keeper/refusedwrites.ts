/**
 * Remembers which Sandboxes, claims and pools have children that the API server does not let Metacontroller change or
 * delete. Metacontroller only reports this in Events of the parent. Any user can create Events, so an Event only makes
 * the keeper check the children. Its text is used only if a write is outstanding (stuckchildren, stuckmembers,
 * stucksandbox).
 * @module
 */
import { quotedError, readRefusal } from "../api/diagnosis/messages.ts";
import { cutText } from "../api/objects/conditions.ts";
import { type ObjectMeta, uidKey } from "../api/objects/objects.ts";
import { pathOf } from "../kube/api.ts";
import type { Collection, EventHandler } from "../kube/watch.ts";
import { createSharedCache } from "../process/sharedcache.ts";

/** The kinds of parents whose refusals are remembered. */
const PARENTS = ["Sandbox", "SandboxClaim", "SandboxWarmPool"] as const;
export type RefusedParent = (typeof PARENTS)[number];

/** The fields of an Event of a parent that the keeper reads. */
export interface SyncError {
  metadata: ObjectMeta;
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
  message?: string;
  /** Some writers leave it out. */
  lastTimestamp?: string | null;
}

/** Metacontroller's Events about failed syncs; there are few. */
export const SYNC_ERRORS: Collection<SyncError> = {
  path: pathOf({ resource: "events" }),
  query: { fieldSelector: "reason=SyncError" },
  parse: (object) => object as SyncError,
};

/** How long an Event is considered recent. Metacontroller retries within 30 s, and repeats the Event after 5 min at most. */
const RECENT_MS = 15 * 60_000;
/** How many parents are remembered. If there are more, the oldest one of the namespace with the most is dropped. */
const MOST = 5000;
/** Longest text in characters; it is written to an annotation and a condition. */
const LONGEST = 2000;

export interface RefusedWrites {
  handler: EventHandler<SyncError>;
  /** Returns the API server's last error about the children of a parent; undefined: there was none recently. */
  of(parent: Pick<ObjectMeta, "namespace" | "uid">, now: number): string | undefined;
}

/**
 * Creates the memory of refusals. An Event counts only if it is about an object in its own namespace. Otherwise, a user
 * who may create Events in one namespace could put text into the status of objects in another namespace.
 *
 * @param onRefused called for each refusal, so that the keeper checks the parent
 */
export function createRefusedWrites(
  now: () => number,
  onRefused: (kind: RefusedParent, parent: { namespace: string; name: string; uid: string }) => void,
): RefusedWrites {
  const known = createSharedCache<{ message: string; at: number }>(MOST);
  return {
    handler: {
      observe({ involvedObject, message = "", lastTimestamp, metadata }) {
        const { uid = "", namespace = "", name = "" } = involvedObject;
        const kind = PARENTS.find((parent) => parent === involvedObject.kind);
        if (!kind || namespace !== metadata.namespace) return;
        // An Event with a time in the future would never expire.
        const at = Math.min(Date.parse(lastTimestamp ?? metadata.creationTimestamp ?? ""), now());
        if (!(now() - at <= RECENT_MS) || readRefusal(message, namespace) === undefined) return;
        const key = uidKey(namespace, uid);
        known.remove(key);
        known.add(key, { message: cutText(quotedError(message), LONGEST), at }, namespace);
        onRefused(kind, { namespace, name, uid });
      },
      gone: () => {},
      listed: () => {},
    },
    of({ namespace, uid }, time) {
      const found = known.get(uidKey(namespace, uid));
      return found && time - found.at <= RECENT_MS ? found.message : undefined;
    },
  };
}
