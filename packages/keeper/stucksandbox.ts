/** Finds out whether the API server does not let Metacontroller change or delete the Sandbox of a claim. @module */
import type { ClaimProblem } from "../api/claimproblem.ts";
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { outstandingMetadata } from "../api/claims/boundmetadata.ts";
import { metadataProblem } from "../api/claims/podmetadata.ts";
import { writeRefused } from "../api/claims/refusedwrite.ts";
import { isPublished } from "../api/expiry.ts";
import { controllerOf } from "../api/objects/objects.ts";
import type { Api } from "../kube/api.ts";
import { findObject } from "../kube/find.ts";

/** Domains of keys that claims may use; no annotation domains: any. */
interface Allowed {
  domains: readonly string[];
  annotationDomains?: readonly string[] | undefined;
}

/**
 * Returns the problem of a claim that has a Sandbox; undefined: no write is outstanding.
 *
 * @param words the API server's last error about a write for this claim
 * @throws {Error} if the API server refuses to show the Sandbox
 */
export async function stuckSandbox(
  api: Api,
  claim: SandboxClaim,
  words: string,
  allowed: Allowed,
): Promise<ClaimProblem | undefined> {
  const { namespace, uid } = claim.metadata;
  const name = claim.status?.sandbox?.name ?? "";
  const sandbox = await findObject(api, { resource: "sandboxes", namespace, name }, sandboxSchema);
  if (!sandbox || controllerOf(sandbox.metadata)?.uid !== uid) return undefined;
  const verb = outstandingWrite(claim, sandbox, allowed);
  return verb && writeRefused(verb, name, words);
}

/** Returns which write of a claim's Sandbox is outstanding; undefined: none, or the Sandbox is being deleted. */
export function outstandingWrite(
  claim: SandboxClaim,
  sandbox: Sandbox,
  { domains, annotationDomains }: Allowed,
): "update" | "delete" | undefined {
  if (sandbox.metadata.deletionTimestamp !== undefined) return undefined;
  if (isPublished(claim, "ClaimExpired")) {
    return claim.spec.lifecycle?.shutdownPolicy === "Retain" ? "delete" : undefined;
  }
  // The hook changes nothing if the claim asks for metadata that it may not have.
  if (metadataProblem(claim.spec.additionalPodMetadata, domains, annotationDomains)) return undefined;
  const update = outstandingMetadata(claim, sandbox);
  return update && !("problem" in update) ? "update" : undefined;
}
