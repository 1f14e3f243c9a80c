/** Defines SandboxClaim, extensions.agents.x-k8s.io/v1beta1: type, parser and CRD from one schema. @module */
import * as z from "zod";
import { objectMetaSchema } from "./objects/schemas.ts";
import { embeddedMetadataSchema, volumeClaimTemplatesSchema } from "./blueprint.ts";
import { conditionsSchema, countSchema, dateTimeSchema, openObject, referenceName } from "./fields.ts";
import { AGE_COLUMN, type CustomResource, EXTENSIONS_GROUP } from "./crd.ts";
import type { CLAIM_FINAL_REASONS } from "./finalreasons.ts";
import type { ReadyReason } from "./sandbox.ts";

/**
 * Reasons of a claim's `Ready` that clients of Agent Sandbox treat as final. A claim that can still become Ready never
 * has one of them.
 */
type ClaimFailureReason = (typeof CLAIM_FINAL_REASONS)[number];

/** Reasons of a claim's `Ready`. If the Sandbox has a Ready condition, its reason is copied. */
export type ClaimReadyReason =
  | ClaimFailureReason
  | ReadyReason
  | "SandboxMissing"
  | "SandboxNotReady";

const environmentVariableSchema = openObject({
  name: z.string().describe("Name of the variable."),
  value: z.string().describe("Its value, taken literally."),
  containerName: z.string().optional().describe("The container to set it in; absent means the first regular one."),
}).describe("One environment variable.");
export type ClaimEnvironmentVariable = z.infer<typeof environmentVariableSchema>;

/** Schema of when a claim expires. Claims use it, and pools use it for the default of claims without a lifecycle. */
export const lifecycleSchema = openObject({
  shutdownTime: dateTimeSchema.optional().meta({
    description: "When the claim expires, as an absolute time. Absent means never.",
  }),
  ttlSecondsAfterFinished: countSchema.optional().describe(
    "Seconds after the sandbox's Pod has finished at which the claim expires. Absent means never.",
  ),
  shutdownPolicy: z.enum(["Delete", "DeleteForeground", "Retain"]).default("Retain").describe(
    "What happens at expiry: Delete deletes the claim, DeleteForeground too but waits for sandbox and Pod to go first, " +
      "Retain deletes the sandbox only.",
  ),
});
export type ClaimLifecycle = z.infer<typeof lifecycleSchema>;

const specSchema = openObject({
  warmPoolRef: openObject({
    name: referenceName("Name of a SandboxWarmPool in the same namespace."),
  }).describe("The pool to take a sandbox from; if it has none, one is made from the pool's template."),
  lifecycle: lifecycleSchema.optional().describe("When the claim expires, and what happens then."),
  additionalPodMetadata: embeddedMetadataSchema.optional().describe(
    "Labels and annotations for the sandbox's Pod in addition to the template's. Label keys need an allowed domain, " +
      "annotation keys must not be Kubernetes' own.",
  ),
  env: z.array(environmentVariableSchema).optional().meta({
    description: "Environment variables, if the template's policy lets a claim set them. They mean a cold start.",
    "x-kubernetes-list-type": "atomic",
    maxItems: 1000,
  }),
  volumeClaimTemplates: volumeClaimTemplatesSchema.optional().describe(
    "Volumes in addition to the template's, if its policy lets a claim bring them. They mean a cold start.",
  ),
});

const statusSchema = openObject({
  conditions: conditionsSchema("Ready, and Finished once the sandbox's Pod has finished").optional(),
  sandbox: openObject({
    name: z.string().optional().describe("Name of the Sandbox, in the claim's namespace."),
    podIPs: z.array(z.string()).optional().describe("Addresses of its Pod; absent while it has none."),
  }).optional().describe("The Sandbox of the claim; absent until the claim is bound."),
});
export type SandboxClaimStatus = z.infer<typeof statusSchema>;

/** The CRD except its schema. */
export const sandboxClaimCRD = {
  group: EXTENSIONS_GROUP,
  version: "v1beta1",
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  singular: "sandboxclaim",
  shortNames: ["sandboxclaim", "sbxc"],
  categories: ["agents"],
  columns: [
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Sandbox", type: "string", jsonPath: ".status.sandbox.name" },
    { name: "Reason", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].reason" },
    AGE_COLUMN,
  ],
  status: true,
} as const satisfies CustomResource;

/**
 * A SandboxClaim as the API server has accepted it. If `status` is absent, neither binder nor hook has handled it yet.
 */
export const sandboxClaimSchema = openObject({
  apiVersion: z.literal(`${sandboxClaimCRD.group}/${sandboxClaimCRD.version}`),
  kind: z.literal(sandboxClaimCRD.kind),
  metadata: objectMetaSchema,
  spec: specSchema.describe("Which pool to take a sandbox from, and what to change about it."),
  status: statusSchema.optional().describe("The Sandbox of the claim, and its state."),
}).describe("SandboxClaim asks for one sandbox of a pool; deleting the claim deletes the sandbox.");
export type SandboxClaim = z.infer<typeof sandboxClaimSchema>;
