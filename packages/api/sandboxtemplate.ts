/** Defines SandboxTemplate, extensions.agents.x-k8s.io/v1beta1: type, parser and CRD from one schema. @module */
import type {
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyIngressRule,
  V1NetworkPolicyPeer,
} from "@kubernetes/client-node";
import * as z from "zod";
import { blueprintShape, DEFINITION } from "./blueprint.ts";
import { type CustomResource, EXTENSIONS_GROUP } from "./crd.ts";
import { openObject } from "./fields.ts";
import { objectMetaSchema } from "./objects/schemas.ts";

/** An ingress rule as it is in JSON. The client library's type has `_from` instead of `from`. */
type IngressRule = Omit<V1NetworkPolicyIngressRule, "_from"> & { from?: V1NetworkPolicyPeer[] };
type EgressRule = V1NetworkPolicyEgressRule;

const ingressRuleSchema = z.looseObject({}) as unknown as z.ZodType<IngressRule, IngressRule>;
const egressRuleSchema = z.looseObject({}) as unknown as z.ZodType<EgressRule, EgressRule>;

/**
 * Schema of `spec.networkPolicy`. It replaces all default rules, so an empty object allows no traffic in either
 * direction.
 */
const networkPolicyRulesSchema = openObject({
  ingress: z.array(ingressRuleSchema.meta({
    description: "One rule, as in networking.k8s.io/v1.",
    [DEFINITION]: "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
  })).optional().describe("Clients that may connect to the sandboxes; none if empty or absent."),
  egress: z.array(egressRuleSchema.meta({
    description: "One rule, as in networking.k8s.io/v1.",
    [DEFINITION]: "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
  })).optional().describe("What the sandboxes may connect to; nothing if empty or absent."),
});

const specSchema = openObject({
  ...blueprintShape,
  networkPolicy: networkPolicyRulesSchema.optional().describe(
    "Rules in place of the default ones, which admit the router and let out everything but private addresses.",
  ),
  networkPolicyManagement: z.enum(["Managed", "Unmanaged"]).default("Managed").describe(
    "Whether one NetworkPolicy is kept for the sandboxes of this template. Unmanaged removes it.",
  ),
  envVarsInjectionPolicy: z.enum(["Allowed", "Overrides", "Disallowed"]).default("Disallowed").describe(
    "Whether a claim may set environment variables: Allowed adds new ones only, Overrides replaces those named alike.",
  ),
  volumeClaimTemplatesPolicy: z.enum(["Disallowed", "Allowed", "Overrides"]).default("Disallowed").describe(
    "Whether a claim may bring volumes: Allowed adds new ones only, Overrides replaces those named alike.",
  ),
});
export type SandboxTemplateSpec = z.infer<typeof specSchema>;

/** The CRD except its schema. The kind has no status, so only a DecoratorController can have it as a parent. */
export const sandboxTemplateCRD = {
  group: EXTENSIONS_GROUP,
  version: "v1beta1",
  kind: "SandboxTemplate",
  plural: "sandboxtemplates",
  singular: "sandboxtemplate",
  shortNames: ["sandboxtemplate", "sbxt"],
  categories: ["agents"],
} as const satisfies CustomResource;

/** A SandboxTemplate as the API server has accepted it. */
export const sandboxTemplateSchema = openObject({
  apiVersion: z.literal(`${sandboxTemplateCRD.group}/${sandboxTemplateCRD.version}`),
  kind: z.literal(sandboxTemplateCRD.kind),
  metadata: objectMetaSchema,
  spec: specSchema.describe("What sandboxes of this template are made from."),
}).describe("SandboxTemplate is what the sandboxes of a pool are made from, and what a claim may change about them.");
export type SandboxTemplate = z.infer<typeof sandboxTemplateSchema>;
