/** A claim's Sandbox as the claim answers it: untouched, but for the Pod metadata that follows the claim. @module */
import type { ClaimProblem } from "../../api/claimproblem.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { updatedMetadata } from "../../claims/boundmetadata.ts";
import { metadataProblem } from "../../claims/podmetadata.ts";
import { canonicalJson } from "../../lib/apply.ts";
import { CLAIM_METADATA_ANNOTATION } from "../../lib/keys.ts";
import type { DesiredObject } from "../../lib/objects.ts";
import { unchanged } from "../../lib/unchanged.ts";
import type { ClaimConfig } from "./config.ts";

/** The Sandbox to answer with, and why it does not follow the claim, if it does not. */
export interface Attachment {
  desired: DesiredObject;
  problem?: ClaimProblem;
}

/**
 * Answers with the claim's Sandbox. Mode, shutdown time and policy, and whatever else users or others have set in its
 * spec, is theirs; the Pod's labels and annotations that came from the claim follow it.
 */
export function keepSandbox(claim: SandboxClaim, sandbox: Sandbox, { labelDomains }: ClaimConfig): Attachment {
  const desired = unchanged(sandbox);
  const problem = metadataProblem(claim.spec.additionalPodMetadata, labelDomains);
  if (problem) return { desired, problem };
  const { metadata = {} } = sandbox.spec.podTemplate;
  const update = updatedMetadata(metadata, recorded(claim, sandbox), claim);
  if ("problem" in update) return { desired, problem: update.problem };
  if (!hasChanged(claim, sandbox, update.record)) return { desired };
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
  };
}

/** Without a record, what the claim wants and the Pod has counts as the claim's: another controller has put it there. */
function recorded({ spec }: SandboxClaim, { metadata }: Sandbox): Record<string, string> {
  return { [CLAIM_METADATA_ANNOTATION]: canonicalJson(spec.additionalPodMetadata ?? {}), ...metadata.annotations };
}

/** No record and nothing wanted is no change: what another controller bound stays as it is. */
function hasChanged({ spec }: SandboxClaim, { metadata }: Sandbox, record: string): boolean {
  const before = metadata.annotations?.[CLAIM_METADATA_ANNOTATION];
  if (before === undefined) return canonicalJson(spec.additionalPodMetadata ?? {}) !== "{}";
  return before !== record;
}
