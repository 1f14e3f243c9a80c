/** Whether the NetworkPolicy of a template's name is the template's own. Pure. @module */
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Problem } from "../api/unresolved.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER, UNRESOLVED_ANNOTATION } from "../lib/keys.ts";
import { controllerOf, type KubeObject } from "../lib/objects.ts";
import type { Outcome, Situation } from "./look.ts";
import type { MetadataChange } from "../kube/patch.ts";

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
  /** What makes Metacontroller see a policy that another controller has made for the template. */
  change?: MetadataChange;
}

/** Judges what exists under the policy's name; undefined: nothing. Source: Agent Sandbox API, section 3.1. */
export function policyFinding(
  { metadata }: SandboxTemplate,
  name: string,
  found: KubeObject | undefined,
): PolicyFinding {
  if (!found) return { outcome: "coming", problems: [] };
  if (controllerOf(found.metadata)?.uid === metadata.uid) {
    const isSeen = found.metadata.annotations?.[DECORATOR_ANNOTATION] === TEMPLATE_CONTROLLER;
    const change = isSeen ? {} : { change: { annotations: { [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER } } };
    return { outcome: "whole", problems: [], ...change };
  }
  const message =
    `refusing to update NetworkPolicy "${name}" as it is not controlled by SandboxTemplate "${metadata.name}"`;
  return { outcome: "problem", problems: [{ kind: "NetworkPolicy", name, state: "taken", message }] };
}
