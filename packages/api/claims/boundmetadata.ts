/**
 * Computes the Pod metadata of a claim's Sandbox: from the template, hookbox's tracking labels, and the claim. @module
 */
import type { ClaimProblem } from "./problem.ts";
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import { canonicalJson } from "../objects/apply.ts";
import { isObject, readJson } from "../objects/json.ts";
import {
  CLAIM_METADATA_ANNOTATION,
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  TEMPLATE_REF_HASH_LABEL,
} from "../objects/keys.ts";
import { joinedMetadata, metadataConflict, type PodMetadata, withoutMetadata } from "./podmetadata.ts";

/**
 * Metadata for a Sandbox's Pod template, and the record of what the claim has added: the value of
 * CLAIM_METADATA_ANNOTATION.
 */
export interface BoundMetadata {
  metadata: PodMetadata;
  record: string;
}

/**
 * Computes the Pod metadata of a Sandbox that a claim gets.
 *
 * @param template the template's metadata; if the template is not known, the metadata of the Sandbox
 * @param templateRefHash value of the Sandbox's label with this name; undefined: the Sandbox has no such label
 */
export function boundMetadata(
  template: PodMetadata,
  claim: SandboxClaim,
  templateRefHash: string | undefined,
): BoundMetadata {
  const client = claim.metadata.labels?.[CREATED_BY_LABEL];
  const tracked = {
    [CLAIM_UID_LABEL]: claim.metadata.uid ?? "",
    ...(templateRefHash === undefined ? {} : { [TEMPLATE_REF_HASH_LABEL]: templateRefHash }),
    ...(client === undefined ? {} : { [CREATED_BY_LABEL]: client }),
  };
  return withClaimsShare(joinedMetadata(template, { labels: tracked }), claim);
}

/**
 * Returns the Pod metadata that a claim's Sandbox must get, with the metadata that the claim wants now; undefined: the
 * Sandbox has it. A Sandbox without a record, for which the claim wants nothing, also has it: another controller bound
 * it.
 *
 * @returns the problem if the claim wants another value for a key of the template: nothing must change then
 */
export function outstandingMetadata(
  claim: SandboxClaim,
  { metadata: { annotations = {} }, spec }: Sandbox,
): BoundMetadata | { problem: ClaimProblem } | undefined {
  const before = annotations[CLAIM_METADATA_ANNOTATION];
  const wanted = canonicalJson(claim.spec.additionalPodMetadata ?? {});
  if (wanted === "{}" && (before ?? wanted) === wanted) return undefined;
  // Without a record, a key that the claim wants and the Pod has counts as added by the claim: another controller added
  // it.
  const base = withoutMetadata(spec.podTemplate.metadata ?? {}, readRecord(before ?? wanted));
  const problem = metadataConflict(base, claim.spec.additionalPodMetadata);
  if (problem) return { problem };
  const update = withClaimsShare(base, claim);
  return before === update.record ? undefined : update;
}

/** Records only what the claim adds. If the template has the same key, the claim must not remove it later. */
function withClaimsShare(base: PodMetadata, { spec }: SandboxClaim): BoundMetadata {
  const { labels, annotations } = spec.additionalPodMetadata ?? {};
  const share = withoutMetadata({ labels, annotations }, base);
  return { metadata: joinedMetadata(base, share), record: canonicalJson(share) };
}

function readRecord(text: string): PodMetadata {
  const record = readJson(text);
  const { labels, annotations } = isObject(record) ? record : {};
  return {
    ...(isObject(labels) && { labels: labels as Record<string, string> }),
    ...(isObject(annotations) && { annotations: annotations as Record<string, string> }),
  };
}
