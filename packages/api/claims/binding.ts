/**
 * Decides which process writes to a claim. A claim is bound when its status names a Sandbox that it controls. Until
 * then only the binder writes to the claim, and from then on only the claim's hook. If the Sandbox is gone, the claim
 * is unbound again. @module
 */
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import { FINAL_REASONS } from "../finalreasons.ts";
import { type Condition, findCondition } from "../objects/conditions.ts";
import { ASSIGNED_AT_ANNOTATION } from "../objects/keys.ts";

/** With one of these reasons, a claim never becomes Ready again. */
const FINAL: ReadonlySet<string> = new Set(FINAL_REASONS);

/** Tells whether conditions report that a Sandbox has ended. Its claim then gets no other Sandbox. */
export function isEnd(conditions: readonly Condition[] | undefined): boolean {
  const ready = findCondition(conditions, "Ready");
  return ready?.status === "False" && FINAL.has(ready.reason);
}

/** Tells whether the claim has reported that its Sandbox has ended. */
export function isFinal({ status }: Pick<SandboxClaim, "status">): boolean {
  return isEnd(status?.conditions);
}

/** Finds the Sandbox that the claim is bound to among those that it controls; undefined: the claim is not bound. */
export function boundSandbox<T extends { metadata: { name: string } }>(
  { status }: Pick<SandboxClaim, "status">,
  controlled: Iterable<T>,
): T | undefined {
  const named = status?.sandbox?.name;
  if (!named) return undefined;
  for (const sandbox of controlled) if (sandbox.metadata.name === named) return sandbox;
  return undefined;
}

/** Returns when a Sandbox was bound to its claim, in milliseconds since the epoch; NaN: the time was not recorded. */
export function assignedAt({ metadata }: Pick<Sandbox, "metadata">): number {
  return Date.parse(metadata.annotations?.[ASSIGNED_AT_ANNOTATION] ?? "");
}

/** Tells whether a Sandbox is Ready and has an address. */
export function isReachable({ status }: Pick<Sandbox, "status">): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True" && (status?.podIPs ?? []).length > 0;
}
