/** Decides who owns the NetworkPolicy of a template. The keeper changes its owners, the hook its rules. @module */
import { isLeftBehind, namespaceReference, outlivesTemplate, type Policy, policyFault } from "../api/templatepolicy.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { Api } from "../kube/api.ts";
import { findObject, type MetadataChange } from "../kube/requests.ts";
import { DECORATOR_ANNOTATION, TEMPLATE_CONTROLLER } from "../api/objects/keys.ts";
import {
  controllerOf,
  controllerReference,
  type KubeObject,
  kubeObjectSchema,
  type OwnerReference,
} from "../api/objects/objects.ts";

/** Returns whether a policy is in force, is seen by Metacontroller, and remains when its template is deleted. */
export function isWhole(template: SandboxTemplate, policy: Policy | undefined): boolean {
  return policy !== undefined && policyFault(template, policy) === undefined && isSeen(policy) &&
    outlivesTemplate(policy.metadata);
}

/** Metacontroller sees only attachments with this annotation. */
function isSeen({ metadata }: Policy): boolean {
  return metadata.annotations?.[DECORATOR_ANNOTATION] === TEMPLATE_CONTROLLER;
}

/** A change of a policy's metadata; `ownerReferences` replaces the whole list. */
type PolicyChange = MetadataChange & { ownerReferences?: OwnerReference[] };

/**
 * Returns the change that makes the template control a policy; undefined if it already does, or another owner does.
 *
 * | controlled by | has the hook's annotation | namespace is an owner | change |
 * |---|---|---|---|
 * | the template | no | any | add the annotation: another controller created the policy for the template |
 * | the template | yes | no | add the namespace as an owner, so that the policy remains without its template |
 * | no owner, or an earlier template of the name | yes | any | make the template the controller |
 * | any other | any | any | none |
 */
export async function ownershipChange(
  api: Api,
  template: SandboxTemplate,
  policy: KubeObject,
): Promise<PolicyChange | undefined> {
  const { metadata } = policy;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const isOurs = controllerOf(metadata)?.uid === template.metadata.uid;
  if (!isOurs && !isLeftBehind(policy, template.metadata)) return undefined;
  if (isOurs && isSeen(policy) && outlivesTemplate(metadata)) return undefined;
  const name = template.metadata.namespace ?? "";
  const namespace = await findObject(api, { resource: "namespaces", name }, kubeObjectSchema);
  // The policy is deleted with its namespace.
  if (!namespace || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  const others = (metadata.ownerReferences ?? []).filter(({ controller, kind }) => !controller && kind !== "Namespace");
  return {
    ...isSeen(policy) ? {} : { annotations: { [DECORATOR_ANNOTATION]: TEMPLATE_CONTROLLER } },
    ownerReferences: [controllerReference(template), namespaceReference(namespace.metadata), ...others],
  };
}
