/**
 * Schema of the rules of a template's NetworkPolicy. The hook decides which Pods the policy selects, not the user.
 * @module
 */
import type {
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyIngressRule,
  V1NetworkPolicyPeer,
} from "@kubernetes/client-node";
import * as z from "zod";
import { DEFINITION } from "./blueprint.ts";
import { openObject } from "./fields.ts";

/** An ingress rule as it is in JSON. The client library's type has `_from` instead of `from`. */
type IngressRule = Omit<V1NetworkPolicyIngressRule, "_from"> & { from?: V1NetworkPolicyPeer[] };
type EgressRule = V1NetworkPolicyEgressRule;

const ingressRuleSchema = z.looseObject({}) as unknown as z.ZodType<IngressRule, IngressRule>;
const egressRuleSchema = z.looseObject({}) as unknown as z.ZodType<EgressRule, EgressRule>;

/**
 * Schema of `spec.networkPolicy`. It replaces all default rules, so an empty object allows no traffic in either
 * direction.
 */
export const networkPolicyRulesSchema = openObject({
  ingress: z.array(ingressRuleSchema.meta({
    description: "One rule, as in networking.k8s.io/v1.",
    [DEFINITION]: "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
  })).optional().describe("Clients that may connect to the sandboxes; none if empty or absent."),
  egress: z.array(egressRuleSchema.meta({
    description: "One rule, as in networking.k8s.io/v1.",
    [DEFINITION]: "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
  })).optional().describe("What the sandboxes may connect to; nothing if empty or absent."),
});
