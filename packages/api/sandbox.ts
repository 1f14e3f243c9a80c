/** Defines Sandbox, agents.x-k8s.io/v1beta1: type, parser and CRD from one schema. @module */
import * as z from "zod";
import { objectMetaSchema } from "./objects/schemas.ts";
import { blueprintShape, type VolumeClaimTemplate } from "./blueprint.ts";
import { conditionsSchema, dateTimeSchema, generationSchema, openObject } from "./fields.ts";
import { AGE_COLUMN, type CustomResource } from "./crd.ts";

export type { VolumeClaimTemplate };

/** Reasons of `Ready`. InvalidConfiguration is final: only a change of the spec helps. */
export type ReadyReason =
  | "DependenciesReady"
  | "DependenciesNotReady"
  | "SandboxSuspended"
  | "SandboxExpired"
  | "PodSucceeded"
  | "PodFailed"
  | "MultiplePods"
  | "InvalidConfiguration"
  | "ReconcilerError";

/** Reasons of `Suspended`. */
export type SuspendedReason =
  | "NotSuspended"
  | "PodTerminated"
  | "PodTerminating"
  | "PodNotOwned"
  | "PodStateUnknown"
  | "PodDeletionRefused";

/** Reasons of `Finished`, which is True or absent. */
export type FinishedReason = "PodSucceeded" | "PodFailed";

/** Reasons of `PodScheduled` if the Pod reports none. If it does, its reason is copied. */
export type PodScheduledReason = "PodScheduled" | "PodSchedulingUnknown";

/**
 * Reasons of `ContainersFailing`, which is True or absent. Agent Sandbox does not have this condition. It reports that
 * a container waits for something that does not happen by itself.
 */
export type ContainersFailingReason = "ImagePullFailed" | "ContainerCreationFailed" | "ContainerCrashing";

/**
 * Reasons of `PodOutdated`, which is True or absent. Agent Sandbox does not have this condition, and does not report an
 * outdated Pod.
 */
export type PodOutdatedReason = "SpecChanged";

/** Reasons of `PodLost`, which is True or absent. Agent Sandbox does not have this condition. */
export type PodLostReason = "PodDeleted";

const specSchema = openObject({
  ...blueprintShape,
  operatingMode: z.enum(["Running", "Suspended"]).default("Running").describe(
    "Whether the Pod should exist. Suspended deletes it and keeps volumes, Service and name; Running makes it again.",
  ),
  shutdownTime: dateTimeSchema.optional().meta({
    description: "When the sandbox expires, as an absolute time: Pod and Service go. Absent means never.",
  }),
  shutdownPolicy: z.enum(["Delete", "Retain"]).default("Retain").describe(
    "What becomes of the Sandbox object, and with it of its volumes, when it expires.",
  ),
});
export type SandboxSpec = z.infer<typeof specSchema>;

const statusSchema = openObject({
  observedGeneration: generationSchema.optional().describe(
    "The metadata.generation that this status was computed from.",
  ),
  conditions: conditionsSchema(
    "Ready and Suspended always, PodScheduled, PodOutdated, PodLost, ContainersFailing and Finished where they apply",
  ).optional(),
  service: z.string().optional().describe("Name of the sandbox's Service; empty or absent if there is none."),
  serviceFQDN: z.string().optional().describe("DNS name of that Service; empty or absent if there is none."),
  podIPs: z.array(z.string()).optional().describe("Addresses of the Pod, in its own order; absent while it has none."),
  nodeName: z.string().optional().describe("The node that the Pod runs on."),
  selector: z.string().optional().describe("Label selector that finds the Pod; absent until there was one."),
});
export type SandboxStatus = z.infer<typeof statusSchema>;

/** The CRD except its schema. */
export const sandboxCRD = {
  group: "agents.x-k8s.io",
  version: "v1beta1",
  kind: "Sandbox",
  plural: "sandboxes",
  singular: "sandbox",
  shortNames: ["sandbox", "sbx"],
  categories: ["agents"],
  columns: [
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Reason", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].reason" },
    AGE_COLUMN,
  ],
  status: true,
  rules: [
    {
      // A Sandbox that already breaks the rule may still be changed, so that status and finalizers can be written.
      rule: "!(has(self.spec.service) && self.spec.service) || size(self.metadata.name) <= 63 || " +
        "(oldSelf.hasValue() && has(oldSelf.value().spec.service) && oldSelf.value().spec.service)",
      message: "metadata.name must be no more than 63 characters when spec.service is true",
      optionalOldSelf: true,
    },
  ],
  specRules: [
    {
      rule: "has(self.volumeClaimTemplates) == has(oldSelf.volumeClaimTemplates) && " +
        "(!has(self.volumeClaimTemplates) || self.volumeClaimTemplates == oldSelf.volumeClaimTemplates)",
      message: "volumeClaimTemplates is immutable",
    },
  ],
} as const satisfies CustomResource;

/**
 * A Sandbox as the API server has accepted it. A `status` without conditions means that the hook has not written a
 * status yet.
 */
export const sandboxSchema = openObject({
  apiVersion: z.literal(`${sandboxCRD.group}/${sandboxCRD.version}`),
  kind: z.literal(sandboxCRD.kind),
  metadata: objectMetaSchema,
  spec: specSchema.describe("What the sandbox should be."),
  // The default is the field that Metacontroller adds to every status. So if the hook does not report anything yet, no
  // write is needed.
  status: statusSchema.optional().meta({ description: "What the sandbox is.", default: { observedGeneration: 1 } }),
}).describe("Sandbox is one isolated, stateful Pod with a stable name, volumes that outlive it, and an off switch.");
export type Sandbox = z.infer<typeof sandboxSchema>;
