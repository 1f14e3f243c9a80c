/** A claim's Sandbox as it is answered: untouched, but for the Pod metadata that follows the claim. @module */
import type { ClaimProblem } from "../../packages/api/claimproblem.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { outstandingMetadata } from "../../packages/api/claims/boundmetadata.ts";
import { metadataProblem } from "../../packages/api/claims/podmetadata.ts";
import { refusedWriteProblem } from "../../packages/api/claims/refusedwrite.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { CLAIM_METADATA_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import type { ClaimConfig } from "./options.ts";

/** The Sandbox to answer with, and why it does not follow the claim, if it does not. */
interface Attachment {
  desired: DesiredObject;
  problem?: ClaimProblem | undefined;
  /** Whether the Sandbox lacks Pod metadata that the claim asks for. @default {false} */
  isMetadataOutstanding?: boolean;
}

/**
 * Answers with the claim's Sandbox. Mode, shutdown time and policy, and whatever else users or others have set in its
 * spec, is theirs; the Pod's labels and annotations that came from the claim follow it.
 */
export function keepSandbox(claim: SandboxClaim, sandbox: Sandbox, config: ClaimConfig): Attachment {
  const desired = unchanged(sandbox);
  const problem = metadataProblem(claim.spec.additionalPodMetadata, config.labelDomains, config.annotationDomains);
  if (problem) return { desired, problem };
  const update = outstandingMetadata(claim, sandbox);
  if (!update) return { desired };
  if ("problem" in update) return { desired, problem: update.problem };
  const spec = (desired.spec ?? {}) as Partial<Sandbox["spec"]>;
  return {
    desired: {
      ...desired,
      metadata: {
        ...desired.metadata,
        annotations: { ...desired.metadata.annotations, [CLAIM_METADATA_ANNOTATION]: update.record },
      },
      spec: { ...spec, podTemplate: { ...spec.podTemplate, metadata: update.metadata } },
    },
    problem: refusedWriteProblem(sandbox.metadata, "update"),
    isMetadataOutstanding: !sameJson(update.metadata, sandbox.spec.podTemplate.metadata ?? {}),
  };
}
