/** The Pod metadata of a claim's Sandbox: the template's, what we track by, and what the claim adds. Pure. @module */
import type { ClaimProblem } from "../claimproblem.ts";
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

/** Metadata for a Sandbox's Pod template, and the record of the claim's share: value of CLAIM_METADATA_ANNOTATION. */
export interface BoundMetadata {
  metadata: PodMetadata;
  record: string;
}

/**
 * Makes the Pod metadata of a Sandbox that a claim gets.
 *
 * @param template the template's; where it is unknown, what the Sandbox has
 * @param templateRefHash value of the Sandbox's label of that name; undefined if it has none
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
 * Returns the Pod metadata that a claim's Sandbox must get, with the claim's share as the claim wants it now; undefined: the
 * Sandbox has it. A Sandbox without a record, for which the claim wants nothing, also has it: another controller bound it.
 *
 * @returns the problem if the claim wants a key to be other than the template has it: then nothing is to change
 */
export function outstandingMetadata(
  claim: SandboxClaim,
  { metadata: { annotations = {} }, spec }: Sandbox,
): BoundMetadata | { problem: ClaimProblem } | undefined {
  const before = annotations[CLAIM_METADATA_ANNOTATION];
  const wanted = canonicalJson(claim.spec.additionalPodMetadata ?? {});
  if (wanted === "{}" && (before ?? wanted) === wanted) return undefined;
  // Without a record, what the claim wants and the Pod has counts as the claim's: another controller has put it there.
  const base = withoutMetadata(spec.podTemplate.metadata ?? {}, readRecord(before ?? wanted));
  const problem = metadataConflict(base, claim.spec.additionalPodMetadata);
  if (problem) return { problem };
  const update = withClaimsShare(base, claim);
  return before === update.record ? undefined : update;
}

/** Only what the claim adds is recorded: a key that the template has too is not the claim's to take away. */
function withClaimsShare(base: PodMetadata, { spec }: SandboxClaim): BoundMetadata {
  const { labels, annotations } = spec.additionalPodMetadata ?? {};
  const share = withoutMetadata({ labels, annotations }, base);
  return { metadata: joinedMetadata(base, share), record: canonicalJson(share) };
}

function readRecord(text: string): PodMetadata {
  const record = readJson(text);
  return isObject(record) ? record : {};
}
