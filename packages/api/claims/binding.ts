/**
 * Who speaks for a claim while it is being given a Sandbox: for a moment the binder, then its hook. Both ask here, so that
 * they do not write the same thing twice. Pure. @module
 */
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import { FINAL_REASONS } from "../finalreasons.ts";
import { findCondition } from "../objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION } from "../objects/keys.ts";

/** From `assigned-at` on the hook is silent, and the binder speaks for longer than that: nothing falls in between. */
const SILENCE_MS = 2000;
const BINDER_MS = 4000;

/** From these a claim does not come back. */
const FINAL: ReadonlySet<string> = new Set(FINAL_REASONS);

/** Tells whether the claim has shown that its Sandbox has come to an end: it is not given another one. */
export function isFinal({ status }: SandboxClaim): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "False" && FINAL.has(ready.reason);
}

/** Returns when a Sandbox was given to its claim, in milliseconds since the epoch; NaN if nobody took note. */
export function assignedAt({ metadata }: Sandbox): number {
  return Date.parse(metadata.annotations?.[ASSIGNED_AT_ANNOTATION] ?? "");
}

/** Tells whether a Sandbox is Ready, and its claim says nothing yet, or that it waits for this one. */
export function isUntold({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  const isWaiting = status?.sandbox?.name === sandbox.metadata.name && WAITS.has(ready?.reason ?? "");
  return isReachable(sandbox) && (status === undefined || isWaiting);
}

/** Reasons that go away by themselves, most often within the second. */
const WAITS = new Set(["SandboxNotReady", "DependenciesNotReady"]);

/**
 * Tells whether the binder says what a claim was given: as soon as that is Ready, and for a moment only. All that comes
 * later is the hook's.
 */
export function isBinders(claim: SandboxClaim, sandbox: Sandbox, now: number): boolean {
  return isUntold(claim, sandbox) && isWithin(sandbox, BINDER_MS, now);
}

/** Tells whether the hook leaves the first status to the binder. If neither writes it, the keeper requeues the claim. */
export function isLeftToBinder({ status }: SandboxClaim, sandbox: Sandbox, now: number): boolean {
  return status === undefined && isReachable(sandbox) && isWithin(sandbox, SILENCE_MS, now);
}

/** Tells whether a Sandbox is Ready and has an address. */
export function isReachable({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True" && (status?.podIPs ?? []).length > 0;
}

function isWithin(sandbox: Sandbox, ms: number, now: number): boolean {
  const age = now - assignedAt(sandbox);
  return age >= 0 && age < ms;
}
