/** Builds the Sandbox of a claim: from a member that is bound to it, or new. Only pure functions. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { boundMetadata } from "../api/claims/boundmetadata.ts";
import { allowsLateBinding } from "../api/claims/latebinding.ts";
import { joinedVolumes, withEnvironment } from "../api/claims/request.ts";
import type { PodMetadata } from "../api/claims/podmetadata.ts";
import { type Amounts, claimAmounts, withAmounts } from "../api/claims/resources.ts";
import { resizedValue, specHash } from "../../hooks/sandbox/pod.ts";
import { securedPodSpec } from "../../hooks/sandboxwarmpool/blueprint.ts";
import {
  type PoolSandbox,
  type PoolSandboxSpec,
  SANDBOX,
  shardOf,
  sharedSpec,
  templateAnnotations,
} from "../../hooks/sandboxwarmpool/sandbox.ts";
import { cutText } from "../api/objects/conditions.ts";
import { applyCreate, applyUpdate, lastApplied } from "../api/objects/apply.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_CONTROLLER,
  CLAIM_METADATA_ANNOTATION,
  CLAIM_UID_LABEL,
  CONTROLLER_UID_LABEL,
  CREATED_BY_LABEL,
  DECORATOR_ANNOTATION,
  LATE_BINDING_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  NOT_RESIZED_ANNOTATION,
  POD_TEMPLATE_HASH_LABEL,
  RESIZED_ANNOTATION,
  SAFE_TO_EVICT_ANNOTATION,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../api/objects/keys.ts";
import { nameHash } from "../api/objects/names.ts";
import { controllerReference } from "../api/objects/objects.ts";

/** Longest trace context that is copied, in characters. A Sandbox has other annotations that need room. */
const LONGEST_TRACE = 512;

const NO_MEMBER = "no running pool member could be bound";
/** Longest text that a Sandbox keeps about why no member was resized, in characters. */
const LONGEST_WHY = 400;

/** Labels of a member that the Sandbox of a claim does not have. */
const POOL_LABELS = [
  WARM_POOL_LABEL,
  POD_TEMPLATE_HASH_LABEL,
  TEMPLATE_HASH_LABEL,
  CREATED_BY_LABEL,
  CONTROLLER_UID_LABEL,
];

/**
 * Returns the full member as the claim's Sandbox, for a PUT on condition of its version. The controller, labels, Pod
 * metadata and the resources that the claim asks for are the claim's; everything else stays, also other owners. The member
 * is merged as Metacontroller would merge it, and stored as last applied, so that Metacontroller's next sync changes
 * nothing. Source: Agent Sandbox API, section 3.5.3 b.
 *
 * @param sandbox as observed, not parsed: the PUT must not add defaults that were never written
 * @throws {SyntaxError} if the last-applied annotation is not the JSON text of an object
 */
export function boundMember(
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
  const base = template ? template.spec.podTemplate.metadata ?? {} : ownPodMetadata(sandbox);
  const { metadata, record } = boundMetadata(base, claim, labels[TEMPLATE_REF_HASH_LABEL]);
  const desired = {
    ...applied,
    metadata: {
      ...applied.metadata,
      labels,
      annotations: { ...applied.metadata.annotations, ...claimAnnotations(claim, record, template, now) },
    },
    // The keeper may have removed the Pod's spec from the last-applied annotation. Then the merge does not touch that
    // spec.
    spec: { ...applied.spec, podTemplate: { ...applied.spec?.podTemplate, metadata } } as PoolSandboxSpec,
  };
  const bound = applyUpdate(sandbox, desired, rememberedOf(sandbox.metadata, metadata, record));
  // The merge identifies owners by their names, so it would replace an owner that has the name of the claim or pool.
  const others = sandbox.metadata.ownerReferences?.filter(({ controller }) => controller !== true) ?? [];
  const given = { ...bound, metadata: { ...bound.metadata, ownerReferences: [...others, controllerReference(claim)] } };
  const amounts = claimAmounts(claim);
  return amounts ? resizedMember(given, amounts) : given;
}

/** Not by the merge: the claim's hook leaves the spec alone. */
function resizedMember(sandbox: Sandbox, amounts: Amounts): Sandbox {
  const { podTemplate } = sandbox.spec;
  const spec = { ...sandbox.spec, podTemplate: { ...podTemplate, spec: withAmounts(podTemplate.spec, amounts) } };
  const resized = { ...sandbox, spec };
  const annotations = {
    ...sandbox.metadata.annotations,
    [RESIZED_ANNOTATION]: resizedValue(specHash(sandbox), specHash(resized)),
  };
  return { ...resized, metadata: { ...sandbox.metadata, annotations } };
}

/** What a claim gets a new Sandbox from. */
export interface ColdStart {
  pool: SandboxWarmPool;
  template: SandboxTemplate;
  /** Why no member of the pool could be resized for the claim; undefined: there was none that could be bound. */
  notResized?: string | undefined;
}

/**
 * Builds a new Sandbox for one claim. It has the claim's name, variables, volumes, resources and metadata from the start.
 * Source: Agent Sandbox API, section 3.5.5.
 */
export function coldSandbox(
  claim: SandboxClaim,
  { pool, template, notResized = NO_MEMBER }: ColdStart,
  now: Date,
): PoolSandbox {
  const { name, namespace = "", uid = "", labels = {} } = claim.metadata;
  const hash = nameHash(template.metadata.name);
  const { metadata, record } = boundMetadata(template.spec.podTemplate.metadata ?? {}, claim, hash);
  const client = labels[CREATED_BY_LABEL];
  const { env = [], volumeClaimTemplates = [] } = claim.spec;
  const amounts = claimAmounts(claim);
  const podSpec = securedPodSpec(template);
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
      annotations: {
        ...templateAnnotations(template, name),
        ...claimAnnotations(claim, record, template, now),
        ...(amounts ? { [NOT_RESIZED_ANNOTATION]: cutText(notResized, LONGEST_WHY) } : {}),
      },
      ownerReferences: [controllerReference(claim)],
    },
    spec: {
      podTemplate: { metadata, spec: withEnvironment(amounts ? withAmounts(podSpec, amounts) : podSpec, env) },
      ...sharedSpec(template, volumes),
    },
  };
  return applyCreate(made, rememberedOf(made.metadata, metadata, record));
}

/**
 * Returns what the last-applied annotation of a claim's Sandbox contains: only the fields that the claim's hook can
 * change, and those that Metacontroller adds to the hook's answer. Metacontroller leaves other fields alone. A full
 * copy would be in each event of the Sandbox and in each call of a hook.
 */
function rememberedOf(
  { name, namespace }: { name: string; namespace?: string | undefined },
  podMetadata: PodMetadata,
  record: string,
): object {
  const annotations = { [CLAIM_METADATA_ANNOTATION]: record, [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER };
  return { ...SANDBOX, metadata: { name, namespace, annotations }, spec: { podTemplate: { metadata: podMetadata } } };
}

function claimAnnotations(
  { metadata }: SandboxClaim,
  record: string,
  template: SandboxTemplate | undefined,
  now: Date,
): Record<string, string> {
  const trace = metadata.annotations?.[TRACE_CONTEXT_ANNOTATION];
  return {
    [ASSIGNED_AT_ANNOTATION]: now.toISOString(),
    [CLAIM_METADATA_ANNOTATION]: record,
    ...(allowsLateBinding(template) ? { [LATE_BINDING_ANNOTATION]: "Required" } : {}),
    ...(trace === undefined || trace.length > LONGEST_TRACE ? {} : { [TRACE_CONTEXT_ANNOTATION]: trace }),
  };
}

/** Returns the member's own Pod metadata, without what the pool has set. Used if the template is gone. */
export function ownPodMetadata({ spec }: Sandbox): PodMetadata {
  const { labels = {}, annotations = {} } = spec.podTemplate.metadata ?? {};
  const { [SAFE_TO_EVICT_ANNOTATION]: evictable, ...rest } = annotations;
  return { labels: without(labels, POOL_LABELS), annotations: evictable === "true" ? rest : annotations };
}

function without(map: Record<string, string>, keys: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
