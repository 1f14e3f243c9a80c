/**
 * Suspends a Sandbox if it has not changed since the decision, and tells since when a router has suspended it.
 * @module
 */
import * as z from "zod";
import { idleExpiryText } from "../../api/expiry.ts";
import { findCondition, rfc3339 } from "../../api/objects/conditions.ts";
import {
  ACTIVE_ANNOTATION,
  EXPIRED_ANNOTATION,
  FIRST_ACTIVE_ANNOTATION,
  SUSPENDED_ANNOTATION,
} from "../../api/router/protocol.ts";
import { sandboxCRD } from "../../api/sandbox.ts";
import { type Answer, answerError, isOk } from "../../kube/api.ts";
import { eventOf } from "../../kube/event.ts";
import type { SandboxRecord } from "../index/records.ts";
import { type IndexedAPI, patchSandbox } from "../index/sandboxapi.ts";

export interface SuspendParts extends IndexedAPI {
  /** Name of this router, without spaces. */
  identity: string;
}

/**
 * Suspends the Sandbox, unless it has changed in any way since the decision: another router may have seen traffic.
 *
 * @returns whether it is suspended
 * @throws {Error} if the API server refuses for another reason
 */
export async function suspend(
  parts: SuspendParts,
  sandbox: SandboxRecord,
  suspension: Suspension,
): Promise<boolean> {
  const annotations = { [SUSPENDED_ANNOTATION]: suspensionText(sandbox, suspension) };
  return await patch(parts, sandbox, { metadata: { annotations }, spec: { operatingMode: "Suspended" } });
}

/**
 * Sets a shutdown time on a Sandbox that has been suspended for long; the keeper then deletes it. An annotation records
 * for which spec this applies: if a user changes the spec before the Sandbox is deleted, the Sandbox stays.
 */
export async function expire(parts: SuspendParts, sandbox: SandboxRecord, now: Date): Promise<boolean> {
  const shutdownTime = rfc3339(now);
  const { metadata, lifetime } = sandbox;
  const annotations = { [EXPIRED_ANNOTATION]: idleExpiryText({ metadata, spec: lifetime }, shutdownTime) };
  return await patch(parts, sandbox, { metadata: { annotations }, spec: { shutdownTime, shutdownPolicy: "Delete" } });
}

/**
 * Restores the shutdown time that a Sandbox had before a router let it expire. Call it only if that expiry was called
 * off.
 */
export async function restoreLifetime(parts: SuspendParts, sandbox: SandboxRecord): Promise<boolean> {
  return await patch(parts, sandbox, lifetimeRestore(sandbox));
}

/** Returns the merge patch that restores the shutdown time; empty if no expiry was called off. */
export function lifetimeRestore(
  { calledOff }: SandboxRecord,
): Required<SandboxChange> | { spec?: never; metadata?: never } {
  if (!calledOff) return {};
  const { shutdownTime = null, shutdownPolicy = null } = calledOff;
  return { metadata: { annotations: { [EXPIRED_ANNOTATION]: null } }, spec: { shutdownTime, shutdownPolicy } };
}

/** Records in an annotation that the sandbox is in use, for other routers and for this one after a restart. */
export async function recordActivity(
  parts: SuspendParts,
  { metadata, annotations: before, createdAt = -Infinity }: SandboxRecord,
  now: Date,
): Promise<void> {
  const recorded = before[FIRST_ACTIVE_ANNOTATION] ?? "";
  // An annotation older than the Sandbox was copied from another Sandbox.
  const first = Date.parse(recorded) >= createdAt ? recorded : rfc3339(now);
  const annotations = { [ACTIVE_ANNOTATION]: `${rfc3339(now)} ${parts.identity}`, [FIRST_ACTIVE_ANNOTATION]: first };
  const answer = await patchSandbox(parts, metadata, { metadata: { annotations } });
  if (!isOk(answer) && answer.status !== 404) throw refused(metadata, answer);
}

async function patch(parts: SuspendParts, { metadata }: SandboxRecord, change: SandboxChange): Promise<boolean> {
  const body = { ...change, metadata: { ...change.metadata, resourceVersion: metadata.resourceVersion } };
  const answer = await patchSandbox(parts, metadata, body);
  if (answer.status === 404 || answer.status === 409) return false;
  if (!isOk(answer)) throw refused(metadata, answer);
  return true;
}

function refused({ namespace, name }: SandboxRecord["metadata"], answer: Answer): Error {
  return answerError(`patch Sandbox ${namespace}/${name}`, answer);
}

interface SandboxChange {
  metadata?: { annotations: Record<string, string | null> };
  spec?: Record<string, string | null>;
}

/** Records an Event about the suspension. @throws {Error} if the API server refuses it */
export async function recordSuspendedEvent(
  { api, identity }: SuspendParts,
  { metadata }: SandboxRecord,
  { reason, note, now }: Suspension,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const { group, version, kind } = sandboxCRD;
  const event = eventOf(
    {
      regarding: { apiVersion: `${group}/${version}`, kind, namespace, name, uid },
      type: "Normal",
      reason: `Suspended${reason}`,
      action: "Suspend",
      note: `Suspended: ${note}`,
      reportingController: "hookbox-router",
      key: resourceVersion,
      at: now.getTime(),
    },
    identity,
    now,
  );
  const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const answer = await api.send({ method: "POST", path, body: event });
  if (!isOk(answer) && answer.status !== 409) throw answerError(`record an Event of ${namespace}/${name}`, answer);
}

/** Why and when a router suspends a Sandbox. */
interface Suspension {
  reason: string;
  note: string;
  now: Date;
}

const suspensionSchema = z.object({ at: z.string(), uid: z.string(), generation: z.number() });

/** Returns the annotation's text for a suspension. `generation` is the one that the spec has after the patch. */
export function suspensionText({ metadata }: SandboxRecord, { reason, note, now }: Suspension): string {
  const { uid, generation } = metadata;
  return JSON.stringify({ reason, at: rfc3339(now), note, uid, generation: generation + 1 });
}

/**
 * Returns since when a router has suspended the Sandbox as idle, in milliseconds since the epoch; undefined: no router
 * has, or it is not certain. The first row that applies decides.
 *
 * | observation | since |
 * |---|---|
 * | its mode is not Suspended | undefined |
 * | no annotation of a router names its UID, or the annotation cannot be read | undefined |
 * | its spec has another generation than after that suspension: a user has resumed or changed it | undefined |
 * | its condition Suspended is not True, or of an older generation | undefined: its Pod may still exist |
 * | (none of these) | the annotation's time, or the condition's transition time if that is later |
 */
export function idleSince(sandbox: SandboxRecord): number | undefined {
  const { metadata: { uid, generation }, annotations, conditions, isSuspended } = sandbox;
  const recorded = suspensionSchema.safeParse(parsedAnnotation(annotations[SUSPENDED_ANNOTATION])).data;
  if (!isSuspended || !recorded || recorded.uid !== uid || recorded.generation !== generation) return undefined;
  const condition = findCondition(conditions, "Suspended");
  if (condition?.status !== "True" || condition.observedGeneration !== generation) return undefined;
  const since = Math.max(Date.parse(recorded.at), Date.parse(condition.lastTransitionTime));
  return Number.isNaN(since) ? undefined : since;
}

function parsedAnnotation(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
