/** Rules for an object of any of hookbox's kinds: it is being deleted, its hook fails, or it was not reconciled for a while. @module */
import type { Condition } from "../../objects/conditions.ts";
import { type ObjectMeta, specChanged } from "../../objects/objects.ts";
import type { Facts } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { quotedError, readRefusal } from "../messages.ts";
import { eventEvidence, eventsOf, secondsSince, timeOf } from "../scene.ts";

/** The object is being deleted; undefined: it is not. */
export function beingDeleted(metadata: ObjectMeta, at: ObjectRef): Cause | undefined {
  const { deletionTimestamp: since } = metadata;
  if (since === undefined) return undefined;
  const finalizers = (metadata["finalizers"] as string[] | undefined) ?? [];
  const waits = finalizers.length > 0 ? `, and waits for the finalizers ${finalizers.join(", ")}` : "";
  return cause("BeingDeleted", {
    object: at,
    summary: `${at.kind} "${at.name}" is being deleted${waits}.`,
    evidence: [{ object: at, where: "metadata.deletionTimestamp", text: since }],
    since,
  });
}

/** A sync takes some hundred milliseconds; on an overloaded machine, many seconds. */
const PATIENCE_SECONDS = 30;
/** A single failure is retried. If failures last for this many seconds, something is broken. */
const FAILING_SECONDS = 10;
/** Metacontroller retries within this many seconds. */
const RECENT_SECONDS = 120;

/** The fields that show when an object was last reconciled. */
interface Watched {
  metadata: ObjectMeta;
  status?: { observedGeneration?: number | undefined; conditions?: Condition[] | undefined } | undefined;
}

/**
 * Metacontroller's last Event about an object reports that its hook fails, and the object's status has not changed
 * since then.
 */
export function hookFailing({ metadata, status }: Watched, at: ObjectRef, facts: Facts, now: Date): Cause | undefined {
  const [event] = eventsOf(facts, at, metadata.uid).filter(({ reason }) => reason === "SyncError");
  if (!event || readRefusal(event.message, at.namespace)) return undefined;
  if (!/hook|http error|unsupported status code/i.test(event.message)) return undefined;
  const lasted = (timeOf(event.last) - timeOf(event.first)) / 1000;
  if (lasted < FAILING_SECONDS || secondsSince(event.last, now) > RECENT_SECONDS) return undefined;
  const isOld = (status?.conditions ?? []).some(({ lastTransitionTime }) =>
    timeOf(lastTransitionTime) > timeOf(event.last)
  );
  if (isOld) return undefined;
  return cause("HookFailing", {
    object: at,
    summary: `Metacontroller cannot sync ${named(at)}: ${quotedError(event.message)}`,
    evidence: [eventEvidence(event)],
    since: event.first,
  });
}

/** For a while, the object has had no status, or only one of an older spec. */
export function notReconciled({ metadata, status }: Watched, at: ObjectRef, now: Date): Cause | undefined {
  const { generation = 1 } = metadata;
  const seen = status?.observedGeneration ??
    Math.max(0, ...(status?.conditions ?? []).map(({ observedGeneration = generation }) => observedGeneration));
  const hasSpoken = (status?.conditions ?? []).length > 0;
  if (hasSpoken && seen >= generation) return undefined;
  const since = hasSpoken ? specChanged(metadata) : metadata.creationTimestamp;
  if (secondsSince(since, now) < PATIENCE_SECONDS) return undefined;
  const evidence: Evidence = hasSpoken
    ? { object: at, where: "status.observedGeneration", text: `${seen}, and metadata.generation is ${generation}` }
    : { object: at, where: "status", text: "it has no conditions" };
  return cause("ControllerSilent", {
    object: at,
    summary: `hookbox has not reconciled ${named(at)} ${hasSpoken ? "since its spec changed" : "yet"}.`,
    evidence: [evidence],
    since,
    isGuess: true,
  });
}
