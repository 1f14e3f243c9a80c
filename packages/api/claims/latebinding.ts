/**
 * Late binding: which environment variables of a claim its Sandbox gets while it runs, so that the claim can have a
 * member of the pool. @module
 */
import type { Sandbox } from "../sandbox.ts";
import type { ClaimEnvironmentVariable, SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import { LATE_BINDING_ANNOTATION } from "../objects/keys.ts";

/** Tells whether the template lets its claims bind late: its container runs hookbox's runtime, with a token. */
export function allowsLateBinding(template: SandboxTemplate | undefined): boolean {
  return template?.metadata.annotations?.[LATE_BINDING_ANNOTATION] === "Allowed";
}

/**
 * Tells whether the variables can be bound late: all are for the first container, where the runtime is.
 *
 * @param template undefined: not known, so they cannot
 */
export function canBindLate(env: readonly ClaimEnvironmentVariable[], template: SandboxTemplate | undefined): boolean {
  if (!allowsLateBinding(template)) return false;
  const first = template?.spec.podTemplate.spec.containers[0]?.name;
  return env.every(({ containerName }) => !containerName || containerName === first);
}

/** Tells whether each Pod of the Sandbox must get the variables of its claim, even if there are none. */
export function bindsLate({ metadata }: Pick<Sandbox, "metadata">): boolean {
  return metadata.annotations?.[LATE_BINDING_ANNOTATION] === "Required";
}

/**
 * Returns the variables that a claim's Sandbox must get while it runs.
 *
 * @param isCold the Sandbox was made for the claim, so that its Pod has them
 */
export function lateVariables({ spec }: SandboxClaim, isCold: boolean): Record<string, string> {
  if (isCold) return {};
  return Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value]));
}
