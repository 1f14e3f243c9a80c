/**
 * The SandboxTemplate hook: sets the label by which the template's sandboxes are found, and creates their
 * NetworkPolicy. It is a pure function. @module
 */
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { policyName } from "../../packages/api/templatepolicy.ts";
import { TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import {
  childKey,
  type Decorated,
  listKind,
  type Observed,
  type RelatedRule,
} from "../../packages/webhook/metacontroller.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { kubeObjectSchema } from "../../packages/api/objects/schemas.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import { UNMANAGED } from "./deletionreasons.ts";
import { buildNetworkPolicy } from "./networkpolicy.ts";
import type { TemplateConfig } from "../flags.ts";

/** Asks Metacontroller for the template's namespace, which is the second owner of the policy. */
export function customizeSandboxTemplate({ metadata: { namespace = "" } }: SandboxTemplate): RelatedRule[] {
  return [{ apiVersion: "v1", resource: "namespaces", names: [namespace] }];
}

/**
 * Decides the label and the NetworkPolicy of one template.
 *
 * | networkPolicyManagement | policy |
 * |---|---|
 * | Managed | is created, and every change by others is reverted |
 * | Unmanaged | the template's own policy is deleted; Metacontroller never sends policies of other owners |
 *
 * @throws {RangeError} if the controller lacks the attachment rule
 */
export function syncSandboxTemplate(observed: Observed<SandboxTemplate>, config: TemplateConfig): Decorated<never> {
  const template = observed.parent;
  const policies = listKind(observed.children, "NetworkPolicy.networking.k8s.io/v1", kubeObjectSchema);
  if (template.metadata.deletionTimestamp !== undefined) return { attachments: policies.map(unchanged) };
  const labels = { [TEMPLATE_REF_HASH_LABEL]: nameHash(template.metadata.name) };
  const isOurs = ({ metadata }: KubeObject) => metadata.name === policyName(template.metadata.name);
  const ours = policies.find(isOurs);
  const others = policies.filter((policy) => !isOurs(policy)).map(unchanged);
  if (template.spec.networkPolicyManagement === "Unmanaged") {
    const deletions = ours ? { [childKey(ours)]: UNMANAGED } : {};
    return { labels, attachments: others, deletions };
  }
  const surroundings = { observed: ours, namespace: namespaceOf(observed) };
  return { labels, attachments: [buildNetworkPolicy(template, config, surroundings), ...others] };
}

/** Undefined: the DecoratorController is from an earlier version, which does not call the customize hook. */
function namespaceOf({ parent, related }: Observed<SandboxTemplate>): KubeObject | undefined {
  return related["Namespace.v1"]?.[parent.metadata.namespace ?? ""];
}
