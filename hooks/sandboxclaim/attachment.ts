/** Which of the Sandboxes that it was given a claim keeps, and that one as it is answered: untouched, but for the Pod metadata that follows the claim. @module */
import type { ClaimProblem } from "../../packages/api/claimproblem.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { outstandingMetadata } from "../../packages/api/claims/boundmetadata.ts";
import { metadataProblem } from "../../packages/api/claims/podmetadata.ts";
import { refusedWrite } from "../../packages/api/claims/refusedwrite.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_METADATA_ANNOTATION,
  SANDBOX_NAME_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import type { DesiredObject } from "../../packages/api/objects/objects.ts";
import { unchanged } from "../../packages/webhook/unchanged.ts";
import type { ClaimConfig } from "./options.ts";

/** The Sandbox of a claim, and those that it was given beside it. */
export interface Choice {
  kept: Sandbox | undefined;
  extra: Sandbox[];
}

/**
 * Chooses. Two binders that both lead for a moment may give a claim two; it shows one and gives back the other unseen.
 *
 * | Sandboxes | kept |
 * |---|---|
 * | the one that the claim's status or annotation names is among them | that one |
 * | none of them is named | the earliest assigned; of two at once, the first by name |
 */
export function chooseSandbox({ metadata, status }: SandboxClaim, sandboxes: readonly Sandbox[]): Choice {
  const named = [status?.sandbox?.name, metadata.annotations?.[SANDBOX_NAME_ANNOTATION]];
  const rank = ({ metadata: { name, annotations } }: Sandbox) => {
    const place = named.indexOf(name);
    return `${place < 0 ? named.length : place} ${annotations?.[ASSIGNED_AT_ANNOTATION] ?? ""} ${name}`;
  };
  const living = sandboxes.filter((sandbox) => sandbox.metadata.deletionTimestamp === undefined);
  const [kept, ...extra] = (living.length > 0 ? living : sandboxes).toSorted((a, b) => rank(a) < rank(b) ? -1 : 1);
  return { kept, extra };
}

/** The Sandbox to answer with, and why it does not follow the claim, if it does not. */
interface Attachment {
  desired: DesiredObject;
  problem?: ClaimProblem;
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
  const refused = refusedWrite(claim.metadata);
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
    ...(refused && { problem: refused.problem }),
  };
}
