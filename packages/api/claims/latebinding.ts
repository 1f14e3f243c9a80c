/**
 * Late binding: which environment variables of a claim its Sandbox gets while it runs, so that the claim can have a
 * member of the pool. @module
 */
import type { Sandbox } from "../sandbox.ts";
import type { ClaimEnvironmentVariable, SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import { LATE_BINDING_ANNOTATION, SECRET_ENV_ANNOTATION } from "../objects/keys.ts";

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

/** An environment variable whose value is in a Secret of the claim's namespace. */
export interface SecretVariable {
  name: string;
  secret: string;
  key: string;
}

/** The same pattern as in deploy/binder/secrets.yaml: a claim that this reads differently would be checked wrongly. */
const SECRET_VARIABLE =
  /^([-._a-zA-Z][-._a-zA-Z0-9]*)=([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)\/([-._a-zA-Z0-9]+)$/;
/** More would exceed what an admission policy may ask. */
const MOST_SECRET_VARIABLES = 8;

/** Reads the variables that a claim gets from Secrets. @returns a text for people if the annotation is invalid */
export function secretVariables({ metadata }: Pick<SandboxClaim, "metadata">): SecretVariable[] | string {
  const text = metadata.annotations?.[SECRET_ENV_ANNOTATION];
  if (text === undefined) return [];
  const entries = text.split(",");
  if (entries.length > MOST_SECRET_VARIABLES) {
    return `annotation ${SECRET_ENV_ANNOTATION} has ${entries.length} entries; at most ${MOST_SECRET_VARIABLES} are allowed`;
  }
  const variables: SecretVariable[] = [];
  for (const entry of entries) {
    const [, name, secret, , , , key] = SECRET_VARIABLE.exec(entry) ?? [];
    if (name === undefined || secret === undefined || key === undefined) {
      return `annotation ${SECRET_ENV_ANNOTATION}: "${entry}" is not NAME=secret/key`;
    }
    variables.push({ name, secret, key });
  }
  return variables;
}

/** Tells whether a claim has variables that a running Sandbox must get, so that a member must be Ready for it. */
export function hasLateVariables(claim: SandboxClaim): boolean {
  return (claim.spec.env ?? []).length > 0 || claim.metadata.annotations?.[SECRET_ENV_ANNOTATION] !== undefined;
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
