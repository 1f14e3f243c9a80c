/**
 * Checks what a claim asks for against what its template allows. Binder, keeper and `hookbox why` use the same check.
 * @module
 */
import type { ClaimProblem } from "../claimproblem.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import { environmentProblem } from "./environment.ts";
import { metadataConflict, metadataProblem } from "./podmetadata.ts";
import { volumesProblem } from "./volumes.ts";

/**
 * Returns why a claim cannot be served, whatever the pool has; undefined: it can be served. It is the first problem of:
 * invalid metadata, metadata that conflicts with the template's, environment variables, volumes.
 *
 * @param domains domains of label keys that claims may use; undefined: not known, so only conflicts with the template's
 * metadata are checked
 * @param allowedAnnotationDomains domains of annotation keys that claims may use; undefined: all that are not reserved
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

/** Tells whether no pool member can have what a claim asks for. The claim then needs a new Sandbox: a cold start. */
export function needsColdStart({ spec }: SandboxClaim): boolean {
  return (spec.env ?? []).length > 0 || (spec.volumeClaimTemplates ?? []).length > 0;
}
