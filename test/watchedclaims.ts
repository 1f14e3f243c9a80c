/** Checks every version of a claim: it must not be Ready without the annotations that clients read at that moment. @module */
import type { SandboxClaim } from "../packages/api/sandboxclaim.ts";
import { findCondition } from "../packages/api/objects/conditions.ts";
import {
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../packages/api/objects/keys.ts";
import type { MemoryServer } from "../packages/testing/server.ts";

/**
 * Tells what a claim lacks that is Ready; undefined: nothing, or it is not Ready.
 * Source: Agent Sandbox API, sections 3.5.1, 3.5.3 and 3.5.8.
 */
export function bareness({ metadata: { name, annotations = {} }, status }: SandboxClaim): string | undefined {
  if (findCondition(status?.conditions, "Ready")?.status !== "True") return undefined;
  const missing = [FIRST_OBSERVED_ANNOTATION, FIRST_READY_ANNOTATION].filter((key) => !annotations[key]);
  const sandbox = annotations[SANDBOX_NAME_ANNOTATION];
  if (sandbox !== status?.sandbox?.name) missing.push(`${SANDBOX_NAME_ANNOTATION}: ${status?.sandbox?.name}`);
  return missing.length > 0 ? `${name} lacks ${missing.join(", ")}` : undefined;
}

/** Watches the claims of a server in memory from now on; `bare` lists what {@link bareness} has found. */
export function watchedClaims({ onChange }: MemoryServer): { bare: string[] } {
  const bare: string[] = [];
  onChange(({ object, isGone }) => {
    const lack = object.kind === "SandboxClaim" && !isGone ? bareness(object as unknown as SandboxClaim) : undefined;
    if (lack) bare.push(lack);
  });
  return { bare };
}
