/** Decides what the binder has to do about a claim, by the claim itself and the Sandboxes that it controls. @module */
import { isFinal } from "../api/claims/binding.ts";
import { hasExpired, isPublished } from "../api/expiry.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION, FIRST_OBSERVED_ANNOTATION, SANDBOX_NAME_ANNOTATION } from "../api/objects/keys.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";

/**
 * What the binder has to do about a claim.
 *
 * | standing | what is to be done |
 * |---|---|
 * | `hooks` | nothing: the claim is bound or is being deleted, or nothing is left to be done |
 * | `given` | its status is to name this Sandbox, which it controls |
 * | `expired` | its status is to report that the claim has expired |
 * | `lost` | the Sandbox that its status names is gone: the status is to report that |
 * | `unnoted` | it is bound, but lacks the annotation by which Metacontroller selects the claims of the hook |
 * | `wanting` | it is to get a Sandbox |
 */
export type Standing =
  | { is: "hooks" | "expired" | "lost" | "unnoted" | "wanting" }
  | { is: "given"; given: ControlledSandbox };

const HOOKS: Standing = { is: "hooks" };
const UNNOTED: Standing = { is: "unnoted" };

/**
 * Decides for one claim, by the first row that holds.
 *
 * | claim | standing |
 * |---|---|
 * | is being deleted | hooks |
 * | names a Sandbox that it controls, and was never annotated | unnoted |
 * | names a Sandbox that it controls | hooks |
 * | names a Sandbox that it does not control, and controls another | lost |
 * | controls a Sandbox | given |
 * | has expired, and reports it without naming a Sandbox | hooks |
 * | has expired, or reports that | expired |
 * | names a Sandbox that has come to its end | hooks |
 * | names a Sandbox | lost |
 * | has none | wanting |
 *
 * @param controlled the Sandboxes that it controls. Two binders that both lead for a moment may give a claim two: it names
 *   the one in its annotation, or else the earliest, and the hook deletes the other
 * @param now in milliseconds since the epoch
 */
export function standingOf(claim: SandboxClaim, controlled: Controlled, now: number): Standing {
  const { metadata: { deletionTimestamp, annotations }, status } = claim;
  const named = status?.sandbox?.name || undefined;
  if (deletionTimestamp !== undefined) return HOOKS;
  if (controlled.find(named)) return annotations?.[FIRST_OBSERVED_ANNOTATION] === undefined ? UNNOTED : HOOKS;
  const given = controlled.find(annotations?.[SANDBOX_NAME_ANNOTATION]) ?? controlled.earliest();
  if (given) return named === undefined ? { is: "given", given } : { is: "lost" };
  const isReported = findCondition(status?.conditions, "Ready")?.reason === "ClaimExpired";
  const isExpired = hasExpired(claim, now);
  if (named === undefined && (isExpired ? isPublished(claim, "ClaimExpired") : isReported)) return HOOKS;
  // Its hook has published the expiry, and may have deleted the Sandbox, by a clock of its own.
  if (isExpired || isReported) return { is: "expired" };
  if (named !== undefined && isFinal(claim)) return HOOKS;
  return { is: named === undefined ? "wanting" : "lost" };
}

/** What is kept of a Sandbox that a claim controls. */
export interface ControlledSandbox {
  uid: string;
  name: string;
  /** When the claim got it, RFC 3339; empty: nobody took note. */
  assignedAt: string;
  /** Whether it has a Ready condition. */
  hasReported: boolean;
}

/** The Sandboxes that one claim controls. A user can give a claim any number of them, so that none is searched for. */
export interface Controlled {
  put(sandbox: Sandbox): void;
  /** Takes it out. @param uid of the Sandbox */
  remove(uid: string): void;
  /** Returns the one of that name; undefined: the claim does not control it. */
  find(name: string | undefined): ControlledSandbox | undefined;
  /** Returns the earliest assigned, and of two at once the first by name; undefined: there is none. */
  earliest(): ControlledSandbox | undefined;
}

/** Makes the set, empty. */
export function createControlled(): Controlled {
  const byName = new Map<string, ControlledSandbox>();
  const names = new Map<string, string>();
  let first: ControlledSandbox | undefined;
  return {
    put({ metadata: { name, uid = "", annotations }, status }) {
      const hasReported = findCondition(status?.conditions, "Ready") !== undefined;
      const given = { uid, name, assignedAt: annotations?.[ASSIGNED_AT_ANNOTATION] ?? "", hasReported };
      names.set(uid, name);
      byName.set(name, given);
      if (!first || first.name === name || isBefore(given, first)) first = given;
    },
    remove(uid) {
      const name = names.get(uid);
      names.delete(uid);
      // Another one may have been made under the name.
      if (name === undefined || byName.get(name)?.uid !== uid) return;
      byName.delete(name);
      if (first?.name !== name) return;
      first = undefined;
      for (const given of byName.values()) if (!first || isBefore(given, first)) first = given;
    },
    find: (name) => name === undefined ? undefined : byName.get(name),
    earliest: () => first,
  };
}

function isBefore(one: ControlledSandbox, other: ControlledSandbox): boolean {
  return one.assignedAt === other.assignedAt ? one.name < other.name : one.assignedAt < other.assignedAt;
}
