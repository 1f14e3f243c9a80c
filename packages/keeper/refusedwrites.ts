/**
 * Which children of Sandboxes the API server will not let Metacontroller change or delete. Metacontroller says so in an
 * Event of the Sandbox, and nowhere else. An Event is what anybody may write: it only has the children looked at, and its
 * words are used where a write is seen to be outstanding. @module
 */
import { keepPod } from "../../hooks/sandbox/pod.ts";
import { keepService } from "../../hooks/sandbox/service.ts";
import { readRefusal } from "../api/diagnosis/refusal.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { lastApplied } from "../api/objects/apply.ts";
import { cutText } from "../api/objects/fit.ts";
import { CONTROLLER_UID_LABEL } from "../api/objects/keys.ts";
import type { DesiredObject, KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { podSchema } from "../api/objects/pods.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { pathOf } from "../kube/api.ts";
import type { Collection, EventHandler } from "../kube/watch.ts";

/** An Event of a Sandbox, as far as it is read. */
export interface SyncError {
  metadata: ObjectMeta;
  involvedObject: { kind?: string; namespace?: string; name?: string; uid?: string };
  message?: string;
  /** Absent of some writers. */
  lastTimestamp?: string | null;
}

/** Metacontroller's Events about Sandboxes that it could not bring about; there are few. */
export const SYNC_ERRORS: Collection<SyncError> = {
  path: pathOf({ resource: "events" }),
  query: { fieldSelector: "reason=SyncError,involvedObject.kind=Sandbox" },
  parse: (object) => object as SyncError,
};

/** A refusal that is not repeated for so long is old: Metacontroller tries again within 30 s, and says so at least in 5 min. */
const RECENT_MS = 15 * 60_000;
/** Sandboxes of which refusals are remembered: the oldest are forgotten. */
const MOST = 5000;
/** In characters: it goes into an annotation and a condition. */
const LONGEST = 2000;

export interface RefusedWrites {
  handler: EventHandler<SyncError>;
  /** The API server's last words about the children of a Sandbox; undefined: there are none of late. */
  of(uid: string | undefined, now: number): string | undefined;
}

/** Remembers refusals. @param onRefused called with each, so that the Sandbox is looked at */
export function createRefusedWrites(
  now: () => number,
  onRefused: (namespace: string, name: string) => void,
): RefusedWrites {
  const known = new Map<string, { message: string; at: number }>();
  return {
    handler: {
      observe({ involvedObject: { uid = "", namespace = "", name = "" }, message = "", lastTimestamp, metadata }) {
        const at = Date.parse(lastTimestamp ?? metadata.creationTimestamp ?? "");
        if (now() - at > RECENT_MS || readRefusal(message, namespace) === undefined) return;
        known.delete(uid);
        known.set(uid, { message: cutText(wordsOf(message), LONGEST), at });
        for (const oldest of known.keys()) {
          if (known.size <= MOST) break;
          known.delete(oldest);
        }
        onRefused(namespace, name);
      },
      gone: () => {},
      listed: () => {},
    },
    of(uid = "", time) {
      const found = known.get(uid);
      return found && time - found.at <= RECENT_MS ? found.message : undefined;
    },
  };
}

function wordsOf(message: string): string {
  return message.replace(/^Sync error: (?:can't reconcile children for [^:]*: )?/, "");
}

/**
 * Tells which write of a child is outstanding; undefined: none, it is as the hook would have it, or on its way out.
 *
 * @param found a Pod or Service that is the Sandbox's
 */
export function outstandingWrite(sandbox: Sandbox, found: KubeObject): "delete" | "update" | undefined {
  if (found.metadata.deletionTimestamp !== undefined) return undefined;
  const { operatingMode, service } = sandbox.spec;
  if (found.kind === "Pod" && operatingMode === "Suspended") return "delete";
  if (found.kind === "Service" && service === false) return "delete";
  const desired = desiredOf(sandbox, found);
  if (!desired) return undefined;
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: sandbox.metadata.uid ?? "" };
  // Metacontroller adds both before it merges.
  const wanted = { ...desired, metadata: { ...desired.metadata, labels, namespace: found.metadata.namespace } };
  return isUnchangedByMerge(found, lastApplied(found), wanted) ? undefined : "update";
}

function desiredOf(sandbox: Sandbox, found: KubeObject): DesiredObject | undefined {
  if (found.kind === "Service") return keepService(sandbox, found, true) as DesiredObject;
  const pod = found.kind === "Pod" ? podSchema.safeParse(found).data : undefined;
  return pod && keepPod(sandbox, pod);
}
