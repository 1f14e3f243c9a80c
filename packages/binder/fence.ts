/** Whether sandboxes of a template may start: only under its NetworkPolicy, unless the operator allows otherwise. @module */
import { policyFault, policyMessage, policyName, type TemplatePolicy } from "../api/templatepolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { EventHandler } from "../kube/watch.ts";
import { namedHandler } from "./namedhandler.ts";

/** NetworkPolicies as `policyToKeep` reads them. */
export interface Policies {
  handler: EventHandler<KubeObject>;
  /** Returns what has the name of a template's policy; undefined: nothing. */
  of(template: SandboxTemplate): KubeObject | undefined;
}

/** Keeps them. @param changed called with namespace and name of each that has come, changed or gone */
export function createPolicies(changed: (namespace: string, name: string) => void): Policies {
  const byName = new Map<string, KubeObject>();
  const report = ({ metadata: { namespace = "", name } }: KubeObject) => changed(namespace, name);
  return {
    handler: namedHandler(byName, (policy) => policy, report),
    of: ({ metadata: { namespace, name } }) => byName.get(`${namespace}/${policyName(name)}`),
  };
}

/**
 * Tells why no sandbox of the template may start, and no member may be bound, for people; undefined: they may.
 *
 * If the template is gone, the pool's members may be bound: no object shows whether they ever had a policy.
 */
export function policyProblem(
  policies: Pick<Policies, "of">,
  templateNetworkPolicy: TemplatePolicy,
  template: SandboxTemplate | undefined,
): string | undefined {
  if (!template || templateNetworkPolicy === "optional") return undefined;
  const fault = policyFault(template, policies.of(template));
  return fault && policyMessage(template, fault);
}
