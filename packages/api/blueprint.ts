/**
 * Schemas of the blueprint: the fields for Pod, volumes and Service that templates and Sandboxes share. Claims
 * have some of these fields. @module
 */
import type { V1PersistentVolumeClaimSpec, V1PodSpec } from "@kubernetes/client-node";
import * as z from "zod";
import { openObject, stringMapSchema } from "./fields.ts";

/**
 * Key of `.meta()`. The CRD takes the definition with this name from the API server's own OpenAPI (packages/api/data).
 */
export const DEFINITION = "x-hookbox-definition";

// These schemas check only those fields of Kubernetes' own specs that hooks use. The API server has checked the rest.
const podSpecSchema = z.looseObject({
  containers: z.array(z.looseObject({ name: z.string() })),
}) as unknown as z.ZodType<V1PodSpec, V1PodSpec>;
const claimSpecSchema = z.looseObject({}) as unknown as z.ZodType<
  V1PersistentVolumeClaimSpec,
  V1PersistentVolumeClaimSpec
>;

/** Labels and annotations for a Pod. Other metadata is not allowed. */
export const embeddedMetadataSchema = openObject({
  labels: stringMapSchema.optional().describe("Labels of the Pod."),
  annotations: stringMapSchema.optional().describe("Annotations of the Pod."),
});

const podTemplateSchema = openObject({
  metadata: embeddedMetadataSchema.optional().describe(
    "Labels and annotations of the Pod, kept up to date on it. Keys under agents.x-k8s.io are left out.",
  ),
  spec: podSpecSchema.meta({
    description: "The Pod, as in core/v1 (kubectl explain pod.spec). A change takes effect when the Pod is next made.",
    [DEFINITION]: "io.k8s.api.core.v1.PodSpec",
  }),
});

const volumeClaimTemplateSchema = openObject({
  metadata: openObject({
    name: z.string().optional().describe("The volume's name in the Pod; the claim is named <name>-<sandbox>."),
    labels: stringMapSchema.optional().describe("Labels of the PersistentVolumeClaim."),
    annotations: stringMapSchema.optional().describe("Annotations of the PersistentVolumeClaim."),
  }).optional().describe("Name, labels and annotations of the PersistentVolumeClaim."),
  spec: claimSpecSchema.meta({
    description: "The PersistentVolumeClaim, as in core/v1 (kubectl explain pvc.spec).",
    [DEFINITION]: "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
  }),
});
export type VolumeClaimTemplate = z.infer<typeof volumeClaimTemplateSchema>;

/** If a Sandbox asks for more volumes, hookbox creates no missing volume for it. Most Nodes cannot attach as many. */
export const MOST_VOLUMES = 64;

/**
 * Schema of `volumeClaimTemplates` in all kinds. Where the list is immutable, an absent list differs from an empty one.
 */
export const volumeClaimTemplatesSchema = z.array(
  volumeClaimTemplateSchema.describe("One PersistentVolumeClaim, mounted where the Pod names it."),
).meta({
  description: "Volumes that outlive the Pod: one PersistentVolumeClaim each, deleted with the Sandbox.",
  "x-kubernetes-list-type": "atomic",
  // Only the CRD has this limit. Objects that an older CRD accepted must be readable, so that hookbox can report them.
  maxItems: MOST_VOLUMES,
});

/** The fields that a Sandbox and a SandboxTemplate share. */
export const blueprintShape = {
  podTemplate: podTemplateSchema.describe("What the sandbox's Pod is made from."),
  volumeClaimTemplates: volumeClaimTemplatesSchema.optional(),
  service: z.boolean().optional().describe(
    "Whether a headless Service gives the sandbox a DNS name: true makes one, false removes it, and absent makes none " +
      "but keeps one that is there.",
  ),
};
