/** What the SandboxWarmPool hook asks to see beside its members. @module */
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { CLAIM_BOUND_LABEL, WARM_POOL_REF_LABEL } from "../../lib/keys.ts";
import type { RelatedRule } from "../../lib/metacontroller.ts";

const API = "extensions.agents.x-k8s.io/v1beta1";
const LONGEST_LABEL = 63;

/**
 * Asks for the pool's template, and for the claims that have no Sandbox yet: those that are labelled with the pool's
 * name, and those that are not labelled, since a selector sees no spec.
 */
export function customizeSandboxWarmPool({ metadata: { namespace = "", name }, spec }: SandboxWarmPool): RelatedRule[] {
  const isUnbound = { key: CLAIM_BOUND_LABEL, operator: "DoesNotExist" };
  const claims = (label: { operator: string; values?: string[] }) => ({
    apiVersion: API,
    resource: "sandboxclaims",
    namespace,
    labelSelector: { matchExpressions: [isUnbound, { key: WARM_POOL_REF_LABEL, ...label }] },
  });
  return [
    { apiVersion: API, resource: "sandboxtemplates", namespace, names: [spec.sandboxTemplateRef.name] },
    claims({ operator: "DoesNotExist" }),
    // Longer ones are never a label's value, and a selector with one would be refused.
    ...(name.length <= LONGEST_LABEL ? [claims({ operator: "In", values: [name] })] : []),
  ];
}
