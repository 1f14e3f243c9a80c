/** Defines SandboxWarmPool, extensions.agents.x-k8s.io/v1beta1: type, parser and CRD from one schema. @module */
import * as z from "zod";
import { objectMetaSchema } from "./objects/schemas.ts";
import { conditionsSchema, countSchema, generationSchema, openObject, referenceName } from "./fields.ts";
import { AGE_COLUMN, type CustomResource, EXTENSIONS_GROUP } from "./crd.ts";
import { lifecycleSchema } from "./sandboxclaim.ts";

const specSchema = openObject({
  replicas: countSchema.default(1).describe("How many sandboxes to keep ready that no claim has yet."),
  sandboxTemplateRef: openObject({
    name: referenceName("Name of a SandboxTemplate in the same namespace."),
  }).describe("The template that the sandboxes are made from."),
  updateStrategy: openObject({
    type: z.enum(["Recreate", "OnReplenish"]).default("OnReplenish").describe(
      "Recreate replaces outdated sandboxes at once; OnReplenish hands them out and makes only new ones anew.",
    ),
  }).optional().describe("What happens to unclaimed sandboxes when the template changes. Absent means OnReplenish."),
  readinessGracePeriodSeconds: z.int32().min(30).optional().meta({
    description:
      "How many seconds after its creation a sandbox of the pool may become Ready. The pool replaces it afterwards. " +
      "Absent means the value of the hook's flag. A change makes no sandbox outdated.",
    format: "int32",
  }),
  claimDefaults: openObject({
    lifecycle: lifecycleSchema.optional().describe(
      "The lifecycle of claims that set none. It is copied into a claim when the claim gets its sandbox.",
    ),
  }).optional().meta({
    description: "Defaults for the claims of this pool. A change does not affect claims that already have a sandbox.",
    "x-kubernetes-validations": [
      {
        rule: "!has(self.lifecycle) || !has(self.lifecycle.shutdownTime)",
        message: "shutdownTime is not allowed in claimDefaults; use ttlSecondsAfterFinished instead",
      },
      {
        rule: "!has(self.lifecycle) || !has(self.lifecycle.ttlSecondsAfterFinished) || " +
          "self.lifecycle.ttlSecondsAfterFinished >= 1",
        message: "ttlSecondsAfterFinished in claimDefaults must be at least 1",
      },
    ],
  }),
});

const statusSchema = openObject({
  observedGeneration: generationSchema.optional().describe(
    "The metadata.generation that this status was computed from.",
  ),
  replicas: countSchema.optional().describe("Sandboxes of the pool that no claim has; absent means 0."),
  readyReplicas: countSchema.optional().describe("Those of them that are Ready; absent means 0."),
  selector: z.string().optional().describe(
    "Label selector that finds the pool's sandboxes, for the scale subresource.",
  ),
  sequence: z.int().min(0).optional().meta({
    description: "Number of the newest sandbox made so far: names count on from it and are never used twice.",
    format: "int64",
  }),
  arrivedSequence: z.int().min(0).optional().meta({
    description: "Highest number of a sandbox that was observed so far.",
    format: "int64",
  }),
  observedSequence: z.int().min(0).optional().meta({
    description: "What `arrivedSequence` was seen to be: sandboxes of a higher number are given to no claim yet.",
    format: "int64",
  }),
  batches: z.array(
    openObject({
      first: z.int().min(0).meta({ description: "Number of its first sandbox.", format: "int64" }),
      at: z.string().meta({ description: "When it was asked for.", format: "date-time" }),
      trial: z.boolean().optional().describe("Whether it was kept small, since not all of those before had come."),
      arrived: countSchema.optional().describe("The most of its sandboxes that were seen at once; absent means 0."),
    }).describe("Sandboxes that were made together."),
  ).optional().meta({
    description: "The sandboxes made last, up to `sequence`, oldest first: what is not seen of them yet is on its way.",
    "x-kubernetes-list-type": "atomic",
  }),
  lostAt: z.string().optional().meta({
    description: "When the pool last lost a sandbox; only where refills wait for a while after that.",
    format: "date-time",
  }),
  conditions: conditionsSchema(
    "Ready, Progressing with the reason why the pool is below its size, and NetworkPolicy while the template's is not in force",
  ).optional(),
});
export type SandboxWarmPoolStatus = z.infer<typeof statusSchema>;

/** Reasons of a pool's `Ready`. */
export type PoolReadyReason = "Full" | "NotFull";

/**
 * Reasons of a pool's condition `NetworkPolicy`. It is False while the template's NetworkPolicy is not in force, and
 * absent otherwise.
 */
export type PoolPolicyReason = "NetworkPolicyMissing" | "NetworkPolicyNotOwned" | "NetworkPolicyOutdated";

/**
 * Reasons of a pool's `Progressing`. It is True for Full and Filling, and False for most others, which keep the pool
 * from being full.
 */
export type PoolProgressingReason =
  | "Full"
  | "Filling"
  | "TemplateNotFound"
  | PoolPolicyReason
  | "QuotaExceeded"
  | "Unschedulable"
  | "SchedulingGated"
  | "ImagePullFailed"
  | "ContainersFailing"
  | "InvalidConfiguration"
  | "ChildrenRefused"
  | "ReconcilerError"
  | "PodsFinished"
  | "NotReadyInTime";

/** The CRD except its schema. */
export const sandboxWarmPoolCRD = {
  group: EXTENSIONS_GROUP,
  version: "v1beta1",
  kind: "SandboxWarmPool",
  plural: "sandboxwarmpools",
  singular: "sandboxwarmpool",
  shortNames: ["swp"],
  categories: ["agents"],
  columns: [
    { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
    { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
    AGE_COLUMN,
  ],
  status: true,
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
} as const satisfies CustomResource;

/** A SandboxWarmPool as the API server has accepted it. If `status` is absent, the hook has not handled it yet. */
export const sandboxWarmPoolSchema = openObject({
  apiVersion: z.literal(`${sandboxWarmPoolCRD.group}/${sandboxWarmPoolCRD.version}`),
  kind: z.literal(sandboxWarmPoolCRD.kind),
  metadata: objectMetaSchema,
  spec: specSchema.describe("How many sandboxes to keep, and of what."),
  status: statusSchema.optional().describe("How many there are."),
}).describe("SandboxWarmPool keeps sandboxes of one template running, so that a claim gets one at once.");
export type SandboxWarmPool = z.infer<typeof sandboxWarmPoolSchema>;
