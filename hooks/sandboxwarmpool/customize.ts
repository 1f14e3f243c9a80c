/** What the SandboxWarmPool hook asks to see beside its members. @module */
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { CLAIM_BOUND_LABEL } from "../../lib/keys.ts";
import type { RelatedRule } from "../../lib/metacontroller.ts";

const API = "extensions.agents.x-k8s.io/v1beta1";

/** Asks for the pool's template, and for all claims of the namespace that have no Sandbox yet: a selector sees no spec. */
export function customizeSandboxWarmPool({ metadata: { namespace = "" }, spec }: SandboxWarmPool): RelatedRule[] {
  return [
    { apiVersion: API, resource: "sandboxtemplates", namespace, names: [spec.sandboxTemplateRef.name] },
    {
      apiVersion: API,
      resource: "sandboxclaims",
      namespace,
      labelSelector: { matchExpressions: [{ key: CLAIM_BOUND_LABEL, operator: "DoesNotExist" }] },
    },
  ];
}
