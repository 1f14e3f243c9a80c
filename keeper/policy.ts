/** Whether the NetworkPolicy of a template's name is the template's own. Pure. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Problem } from "../api/unresolved.ts";
import { UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import { controllerOf, type KubeObject } from "../lib/objects.ts";
import type { Outcome, Situation } from "./look.ts";

/**
 * Tells what calls for a look at the policy of a template; undefined: nothing.
 *
 * | template | annotation | situation |
 * |---|---|---|
 * | being deleted | any | none |
 * | Managed | any | look |
 * | Unmanaged | there | leftover |
 * | Unmanaged | none | none |
 */
export function policySituation({ metadata, spec }: SandboxTemplate): Situation | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (spec.networkPolicyManagement === "Managed") return { key: `${metadata.generation}`, kind: "look" };
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  return isAnnotated ? { key: `leftover ${metadata.resourceVersion}`, kind: "leftover" } : undefined;
}

/** What a look at the policy has shown. */
export interface PolicyFinding {
  outcome: Outcome;
  problems: Problem[];
}

/** Judges what exists under the policy's name; undefined: nothing. Source: Agent Sandbox API, section 3.1. */
export function policyFinding(
  { metadata }: SandboxTemplate,
  name: string,
  found: KubeObject | undefined,
): PolicyFinding {
  if (!found) return { outcome: "coming", problems: [] };
  if (controllerOf(found.metadata)?.uid === metadata.uid) return { outcome: "whole", problems: [] };
  const message =
    `refusing to update NetworkPolicy "${name}" as it is not controlled by SandboxTemplate "${metadata.name}"`;
  return { outcome: "problem", problems: [{ kind: "NetworkPolicy", name, state: "taken", message }] };
}
