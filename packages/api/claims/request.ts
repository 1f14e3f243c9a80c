/** What a claim asks for, against what its template allows: one verdict for binder, keeper and `why`. Pure. @module */
import type { ClaimProblem } from "../claimproblem.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import { environmentProblem } from "./environment.ts";
import { metadataConflict, metadataProblem } from "./podmetadata.ts";
import { volumesProblem } from "./volumes.ts";

/**
 * Tells why a claim cannot be served, whatever the pool has; undefined: it can. The first of: bad metadata, metadata
 * against the template's, environment variables, volumes.
 *
 * @param domains of label keys that claims may use; undefined: not known, so metadata is only held to the template's
 * @param allowedAnnotationDomains of annotation keys that claims may use; undefined: all that are not reserved
 */
export function requestProblem(
  { spec }: SandboxClaim,
  template: SandboxTemplate,
  domains: readonly string[] | undefined,
  allowedAnnotationDomains?: readonly string[],
): ClaimProblem | undefined {
  const { podTemplate, volumeClaimTemplates = [], envVarsInjectionPolicy, volumeClaimTemplatesPolicy } = template.spec;
  return (domains && metadataProblem(spec.additionalPodMetadata, domains, allowedAnnotationDomains)) ??
    metadataConflict(podTemplate.metadata ?? {}, spec.additionalPodMetadata) ??
    environmentProblem(spec.env ?? [], envVarsInjectionPolicy, podTemplate.spec) ??
    volumesProblem(spec.volumeClaimTemplates ?? [], volumeClaimTemplatesPolicy, volumeClaimTemplates);
}

/** Tells whether a claim wants what no pool member can have: it needs a Sandbox of its own making, a cold start. */
export function needsColdStart({ spec }: SandboxClaim): boolean {
  return (spec.env ?? []).length > 0 || (spec.volumeClaimTemplates ?? []).length > 0;
}
