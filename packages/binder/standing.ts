/** Decides what the binder has to do about a claim, from the claim itself and the Sandboxes that it controls. @module */
import { isEnd, isFinal, isReachable } from "../api/claims/binding.ts";
import { type ContainerResources, firstResources } from "../api/claims/resources.ts";
import { bindsLate } from "../api/claims/latebinding.ts";
import { hasExpired, isPublished } from "../api/expiry.ts";
import { findCondition } from "../api/objects/conditions.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  FIRST_OBSERVED_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  RESIZED_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
  TEMPLATE_REF_ANNOTATION,
} from "../api/objects/keys.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";

/**
 * What the binder has to do about a claim.
 *
 * | standing | action |
 * |---|---|
 * | `hooks` | none: the claim is bound (its hook handles it), is being deleted, or has reported its end |
 * | `assigned` | write a status that names this Sandbox, which the claim controls |
 * | `expired` | write a status that reports that the claim has expired |
 * | `lost` | write a status that reports that the Sandbox which the status names is gone |
 * | `unannotated` | set the annotation by which Metacontroller selects the claims of the hook: the claim is bound, but lacks it |
 * | `wanting` | find a Sandbox for the claim |
 */
export type Standing =
  | { is: "hooks" | "expired" | "lost" | "unannotated" | "wanting" }
  | { is: "assigned"; assigned: ControlledSandbox };

const HOOKS: Standing = { is: "hooks" };
const UNANNOTATED: Standing = { is: "unannotated" };

/**
 * Decides for one claim. The first row that applies decides.
 *
 * | claim | standing |
 * |---|---|
 * | is being deleted | hooks |
 * | names a Sandbox that it controls, and lacks the annotation | unannotated |
 * | names a Sandbox that it controls | hooks |
 * | names a Sandbox that it does not control, and controls another | lost |
 * | controls a Sandbox | assigned |
 * | has expired, and reports that without naming a Sandbox | hooks |
 * | has expired, or reports that | expired |
 * | names a Sandbox that has ended | hooks |
 * | names a Sandbox | lost |
 * | has no Sandbox | wanting |
 *
 * @param controlled the Sandboxes that the claim controls. If two binders lead for a moment, they may bind two
 *   Sandboxes to a claim. The claim then names the one in its annotation, or else the earliest, and the hook deletes
 *   the other
 * @param now in milliseconds since the epoch
 */
export function standingOf(claim: SandboxClaim, controlled: Controlled, now: number): Standing {
  const { metadata: { deletionTimestamp, annotations }, status } = claim;
  const named = status?.sandbox?.name || undefined;
  if (deletionTimestamp !== undefined) return HOOKS;
  if (controlled.find(named)) return annotations?.[FIRST_OBSERVED_ANNOTATION] === undefined ? UNANNOTATED : HOOKS;
  const assigned = controlled.find(annotations?.[SANDBOX_NAME_ANNOTATION]) ?? controlled.earliest();
  if (assigned) return named === undefined ? { is: "assigned", assigned } : { is: "lost" };
  const isReported = findCondition(status?.conditions, "Ready")?.reason === "ClaimExpired";
  const isExpired = hasExpired(claim, now);
  if (named === undefined && (isExpired ? isPublished(claim, "ClaimExpired") : isReported)) return HOOKS;
  // Its hook may have reported the expiry, and deleted the Sandbox, by a clock that differs from ours.
  if (isExpired || isReported) return { is: "expired" };
  if (named !== undefined && isFinal(claim)) return HOOKS;
  return { is: named === undefined ? "wanting" : "lost" };
}

/** What the binder keeps of a Sandbox that a claim controls. */
export interface ControlledSandbox {
  uid: string;
  name: string;
  /** When the Sandbox was bound to the claim, RFC 3339; empty if that was not recorded. */
  assignedAt: string;
  /** Whether the Sandbox has a Ready condition. */
  hasReported: boolean;
  /** Whether its Pods must get what the claim sets while they run. */
  bindsLate: boolean;
  /** Identifies the present start of its Pod; undefined: it is not Ready. */
  start: string | undefined;
  /** Whether it was made for the claim. Then its Pod has the variables, and only the runtime waits. */
  isCold: boolean;
  /** Name of its template; undefined: not recorded. */
  template: string | undefined;
  /** What its Pod is resized to for the claim; undefined: it is not resized. */
  resize: ContainerResources | undefined;
}

/** The Sandboxes that one claim controls. Users can create any number of them, so every lookup is by key. */
export interface Controlled {
  put(sandbox: Sandbox): void;
  /** Removes a Sandbox. @param uid UID of the Sandbox */
  remove(uid: string): void;
  /** Returns the Sandbox of this name; undefined if the claim does not control it. */
  find(name: string | undefined): ControlledSandbox | undefined;
  /** Returns the Sandbox that was assigned first; by name if two have the same time. Undefined if there is none. */
  earliest(): ControlledSandbox | undefined;
}

/** Creates an empty set. */
export function createControlled(): Controlled {
  const byName = new Map<string, ControlledSandbox>();
  const names = new Map<string, string>();
  let first: ControlledSandbox | undefined;
  return {
    put({ metadata: { name, uid = "", annotations, labels }, spec, status }) {
      const hasReported = findCondition(status?.conditions, "Ready") !== undefined;
      const sandbox = {
        uid,
        name,
        assignedAt: annotations?.[ASSIGNED_AT_ANNOTATION] ?? "",
        hasReported,
        // One that has ended gets nothing any more.
        bindsLate: bindsLate({ metadata: { name, annotations } }) && !isEnd(status?.conditions),
        start: startOf(uid, status),
        isCold: labels?.[LAUNCH_TYPE_LABEL] === "cold",
        template: annotations?.[TEMPLATE_REF_ANNOTATION],
        resize: annotations?.[RESIZED_ANNOTATION] === undefined ? undefined : firstResources(spec.podTemplate.spec),
      };
      names.set(uid, name);
      byName.set(name, sandbox);
      if (!first || first.name === name || isBefore(sandbox, first)) first = sandbox;
    },
    remove(uid) {
      const name = names.get(uid);
      names.delete(uid);
      // A new Sandbox of the same name may have replaced it.
      if (name === undefined || byName.get(name)?.uid !== uid) return;
      byName.delete(name);
      if (first?.name !== name) return;
      first = undefined;
      for (const sandbox of byName.values()) if (!first || isBefore(sandbox, first)) first = sandbox;
    },
    find: (name) => name === undefined ? undefined : byName.get(name),
    earliest: () => first,
  };
}

/** A Pod that starts again, or another one, loses what it got: its Sandbox is not Ready in the meantime. */
function startOf(uid: string, status: Sandbox["status"]): string | undefined {
  if (!isReachable({ status })) return undefined;
  return `${uid} ${status?.podIPs?.[0]} ${findCondition(status?.conditions, "Ready")?.lastTransitionTime}`;
}

function isBefore(one: ControlledSandbox, other: ControlledSandbox): boolean {
  return one.assignedAt === other.assignedAt ? one.name < other.name : one.assignedAt < other.assignedAt;
}
