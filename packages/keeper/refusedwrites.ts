/**
 * Remembers which Sandboxes, claims and pools have children that the API server does not let Metacontroller change or delete.
 * Metacontroller only reports this in Events of the parent. Anybody may create Events, so an Event only makes the keeper check
 * the children; its text is used if a write is seen to be outstanding (stuckchildren, stuckmembers, stucksandbox). @module
 */
import { quotedError, readRefusal } from "../api/diagnosis/refusal.ts";
import { cutText } from "../api/objects/fit.ts";
import { type ObjectMeta, uidKey } from "../api/objects/objects.ts";
import { pathOf } from "../kube/api.ts";
import type { Collection, EventHandler } from "../kube/watch.ts";
import { createShelf } from "../process/shelf.ts";

/** The kinds of parents whose refusals are remembered. */
const PARENTS = ["Sandbox", "SandboxClaim", "SandboxWarmPool"] as const;
export type RefusedParent = (typeof PARENTS)[number];

/** The fields of an Event of a parent that the keeper reads. */
export interface SyncError {
  metadata: ObjectMeta;
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
  message?: string;
  /** Absent of some writers. */
  lastTimestamp?: string | null;
}

/** Metacontroller's Events about failed syncs; there are few. */
export const SYNC_ERRORS: Collection<SyncError> = {
  path: pathOf({ resource: "events" }),
  query: { fieldSelector: "reason=SyncError" },
  parse: (object) => object as SyncError,
};

/** How long an Event counts. Metacontroller retries within 30 s, and repeats the Event after 5 min at most. */
const RECENT_MS = 15 * 60_000;
/** How many parents are remembered. If there are more, the oldest of the namespace with the most is forgotten. */
const MOST = 5000;
/** Longest text in characters: it goes into an annotation and a condition. */
const LONGEST = 2000;

export interface RefusedWrites {
  handler: EventHandler<SyncError>;
  /** Returns the API server's last error about the children of a parent; undefined: there was none recently. */
  of(parent: Pick<ObjectMeta, "namespace" | "uid">, now: number): string | undefined;
}

/**
 * Remembers refusals. An Event counts only if it is about an object in its own namespace. Otherwise a user who may create
 * Events in one namespace could put text into the status of objects in another namespace.
 *
 * @param onRefused called with each, so that the keeper checks the parent
 */
export function createRefusedWrites(
  now: () => number,
  onRefused: (kind: RefusedParent, parent: { namespace: string; name: string; uid: string }) => void,
): RefusedWrites {
  const known = createShelf<{ message: string; at: number }>(MOST);
  return {
    handler: {
      observe({ involvedObject, message = "", lastTimestamp, metadata }) {
        const { uid = "", namespace = "", name = "" } = involvedObject;
        const kind = PARENTS.find((parent) => parent === involvedObject.kind);
        if (!kind || namespace !== metadata.namespace) return;
        // A time in the future would never be over.
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
