/** A Sandbox as it becomes a claim's: a member that changes hands, or one made for the claim. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { boundMetadata } from "../api/claims/boundmetadata.ts";
import { withEnvironment } from "../api/claims/environment.ts";
import type { PodMetadata } from "../api/claims/podmetadata.ts";
import { joinedVolumes } from "../api/claims/volumes.ts";
import { securedPodSpec } from "../../hooks/sandboxwarmpool/blueprint.ts";
import {
  type PoolSandbox,
  type PoolSandboxSpec,
  SANDBOX,
  shardOf,
  sharedSpec,
  templateAnnotations,
} from "../../hooks/sandboxwarmpool/sandbox.ts";
import { applyCreate, applyUpdate, lastApplied } from "../api/objects/apply.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_CONTROLLER,
  CLAIM_METADATA_ANNOTATION,
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  CREATED_BY_LABEL,
  DECORATOR_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  POD_TEMPLATE_HASH_LABEL,
  SAFE_TO_EVICT_ANNOTATION,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../api/objects/keys.ts";
import { nameHash } from "../api/objects/names.ts";
import { controllerReference } from "../api/objects/objects.ts";

/** Longest trace context that is copied, in characters: the Sandbox has annotations of its own. */
const LONGEST_TRACE = 512;

/** Labels of a member that a claim's Sandbox does not have. */
const POOL_LABELS = [
  WARM_POOL_LABEL,
  POD_TEMPLATE_HASH_LABEL,
  TEMPLATE_HASH_LABEL,
  CREATED_BY_LABEL,
  CONTROLLER_UID_LABEL,
];

/**
 * Returns the whole member as the claim's, for a PUT on condition of its version: owner, labels and Pod metadata are the
 * claim's, all else is as it was. Merged as Metacontroller would, and remembered so that it finds nothing to do.
 * Source: Agent Sandbox API, section 3.5.3 b.
 *
 * @param sandbox as it was observed, untouched by a parser: what was never written must not be
 * @throws {SyntaxError} if the last-applied annotation is not the JSON text of an object
 */
export function handedOver(
  sandbox: Sandbox,
  claim: SandboxClaim,
  template: SandboxTemplate | undefined,
  now: Date,
): Sandbox {
  const applied = lastApplied(sandbox) as unknown as PoolSandbox;
  const client = claim.metadata.labels?.[CREATED_BY_LABEL];
  const labels: Record<string, string> = {
    ...without(applied.metadata.labels ?? {}, POOL_LABELS),
    [CLAIM_UID_LABEL]: claim.metadata.uid ?? "",
    ...(client === undefined ? {} : { [CREATED_BY_LABEL]: client }),
  };
  const base = template ? template.spec.podTemplate.metadata ?? {} : withoutPoolMetadata(sandbox);
  const { metadata, record } = boundMetadata(base, claim, labels[TEMPLATE_REF_HASH_LABEL]);
  const desired = {
    ...applied,
    metadata: {
      ...applied.metadata,
      labels,
      annotations: { ...applied.metadata.annotations, ...claimAnnotations(claim, record, now) },
      ownerReferences: [controllerReference(claim)],
    },
    // The keeper may have taken the Pod's spec out of what was applied: then the merge leaves it alone.
    spec: { ...applied.spec, podTemplate: { ...applied.spec?.podTemplate, metadata } } as PoolSandboxSpec,
  };
  return applyUpdate(sandbox, desired, rememberedOf(sandbox.metadata, metadata, record));
}

/**
 * Builds the Sandbox for one claim, named like it, with the claim's variables, volumes and metadata from birth.
 * Source: Agent Sandbox API, section 3.5.5.
 */
export function coldSandbox(
  claim: SandboxClaim,
  pool: SandboxWarmPool,
  template: SandboxTemplate,
  now: Date,
): PoolSandbox {
  const { name, namespace = "", uid = "", labels = {} } = claim.metadata;
  const hash = nameHash(template.metadata.name);
  const { metadata, record } = boundMetadata(template.spec.podTemplate.metadata ?? {}, claim, hash);
  const client = labels[CREATED_BY_LABEL];
  const { env = [], volumeClaimTemplates = [] } = claim.spec;
  const volumes = volumeClaimTemplates.length > 0
    ? joinedVolumes(template.spec.volumeClaimTemplates ?? [], volumeClaimTemplates)
    : template.spec.volumeClaimTemplates;
  const made: PoolSandbox = {
    ...SANDBOX,
    metadata: {
      name,
      namespace,
      labels: {
        [LAUNCH_TYPE_LABEL]: "cold",
        [TEMPLATE_REF_HASH_LABEL]: hash,
        [CLAIM_UID_LABEL]: uid,
        ...(client === undefined ? {} : { [CREATED_BY_LABEL]: client }),
        ...shardOf(pool),
      },
      annotations: { ...templateAnnotations(template, name), ...claimAnnotations(claim, record, now) },
      ownerReferences: [controllerReference(claim)],
    },
    spec: {
      podTemplate: { metadata, spec: withEnvironment(securedPodSpec(template), env) },
      ...sharedSpec(template, volumes),
    },
  };
  return applyCreate(made, rememberedOf(made.metadata, metadata, record));
}

/**
 * Returns what Metacontroller is to remember as applied to a claim's Sandbox: what the claim's hook ever changes, and what
 * Metacontroller adds itself to what that answers. It leaves alone what it does not remember, and each event of the
 * Sandbox, and each call of a hook, would carry it twice.
 */
function rememberedOf(
  { name, namespace }: { name: string; namespace?: string | undefined },
  podMetadata: PodMetadata,
  record: string,
): object {
  const annotations = { [CLAIM_METADATA_ANNOTATION]: record, [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER };
  return { ...SANDBOX, metadata: { name, namespace, annotations }, spec: { podTemplate: { metadata: podMetadata } } };
}

function claimAnnotations({ metadata }: SandboxClaim, record: string, now: Date): Record<string, string> {
  const trace = metadata.annotations?.[TRACE_CONTEXT_ANNOTATION];
  return {
    [ASSIGNED_AT_ANNOTATION]: now.toISOString(),
    [CLAIM_METADATA_ANNOTATION]: record,
    ...(trace === undefined || trace.length > LONGEST_TRACE ? {} : { [TRACE_CONTEXT_ANNOTATION]: trace }),
  };
}

/** Where the template is gone, the member's own metadata takes its place. */
function withoutPoolMetadata({ spec }: Sandbox): PodMetadata {
  const { labels = {}, annotations = {} } = spec.podTemplate.metadata ?? {};
  const { [SAFE_TO_EVICT_ANNOTATION]: evictable, ...rest } = annotations;
  return { labels: without(labels, POOL_LABELS), annotations: evictable === "true" ? rest : annotations };
}

function without(map: Record<string, string>, keys: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
