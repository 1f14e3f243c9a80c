/** The Sandboxes that a pool makes: members, which any claim can have, and cold ones, made for one claim. @module */
import type { Sandbox, SandboxSpec } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { boundMetadata } from "../../claims/boundmetadata.ts";
import { withEnvironment } from "../../claims/environment.ts";
import { joinedMetadata } from "../../claims/podmetadata.ts";
import { joinedVolumes } from "../../claims/volumes.ts";
import {
  CLAIM_CONTROLLER,
  CLAIM_METADATA_ANNOTATION,
  CREATED_BY_LABEL,
  DECORATOR_ANNOTATION,
  FOR_CLAIM_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  POD_NAME_ANNOTATION,
  POD_TEMPLATE_HASH_LABEL,
  POOL_SEQUENCE_ANNOTATION,
  SAFE_TO_EVICT_ANNOTATION,
  SHARD_LABEL,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../lib/keys.ts";
import { nameHash } from "../../lib/names.ts";
import { controllerReference, type DesiredObject } from "../../lib/objects.ts";
import { blueprintHash, podSpecHash, securedPodSpec } from "./blueprint.ts";
import { memberName, type Place, placeText } from "./sequence.ts";

/** What a pool says of a Sandbox's spec; mode, shutdown time and policy belong to users. */
export type PoolSandboxSpec = Pick<SandboxSpec, "podTemplate" | "volumeClaimTemplates" | "service">;
export type PoolSandbox = DesiredObject<"Sandbox", PoolSandboxSpec>;

const SANDBOX = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" } as const;

/** Builds the member of a place. Source: Agent Sandbox API, section 3.3.2. */
export function buildMember(pool: SandboxWarmPool, template: SandboxTemplate, place: Place): PoolSandbox {
  const name = memberName(pool, place.number);
  const tracked = {
    [WARM_POOL_LABEL]: nameHash(pool.metadata.name),
    [TEMPLATE_REF_HASH_LABEL]: nameHash(template.metadata.name),
    [POD_TEMPLATE_HASH_LABEL]: podSpecHash(template),
    [TEMPLATE_HASH_LABEL]: blueprintHash(template),
  };
  const evictable = { annotations: { [SAFE_TO_EVICT_ANNOTATION]: "true" } };
  const podMetadata = joinedMetadata(evictable, template.spec.podTemplate.metadata ?? {}, { labels: tracked });
  return {
    ...SANDBOX,
    metadata: {
      name,
      labels: { ...tracked, [LAUNCH_TYPE_LABEL]: "warm", [CREATED_BY_LABEL]: "controller", ...shardOf(pool) },
      annotations: { ...annotations(template, name), [POOL_SEQUENCE_ANNOTATION]: placeText(place) },
      ownerReferences: [controllerReference(pool)],
    },
    spec: {
      podTemplate: { metadata: podMetadata, spec: securedPodSpec(template) },
      ...sharedSpec(template, template.spec.volumeClaimTemplates),
    },
  };
}

/**
 * Builds the Sandbox for one claim, named like it, with the claim's variables, volumes and metadata from birth. The pool
 * owns it until it is handed over. Source: Agent Sandbox API, section 3.5.5.
 */
export function buildCold(pool: SandboxWarmPool, template: SandboxTemplate, claim: SandboxClaim): PoolSandbox {
  const { name, uid = "", labels = {} } = claim.metadata;
  const hash = nameHash(template.metadata.name);
  const { metadata, record } = boundMetadata(template.spec.podTemplate.metadata ?? {}, claim, hash);
  const client = labels[CREATED_BY_LABEL];
  const trace = claim.metadata.annotations?.[TRACE_CONTEXT_ANNOTATION];
  const { env = [], volumeClaimTemplates = [] } = claim.spec;
  const volumes = volumeClaimTemplates.length > 0
    ? joinedVolumes(template.spec.volumeClaimTemplates ?? [], volumeClaimTemplates)
    : template.spec.volumeClaimTemplates;
  return {
    ...SANDBOX,
    metadata: {
      name,
      labels: {
        [LAUNCH_TYPE_LABEL]: "cold",
        [TEMPLATE_REF_HASH_LABEL]: hash,
        ...(client === undefined ? {} : { [CREATED_BY_LABEL]: client }),
        ...shardOf(pool),
      },
      annotations: {
        ...annotations(template, name),
        [FOR_CLAIM_ANNOTATION]: uid,
        [CLAIM_METADATA_ANNOTATION]: record,
        ...(trace === undefined ? {} : { [TRACE_CONTEXT_ANNOTATION]: trace }),
      },
      ownerReferences: [controllerReference(pool)],
    },
    spec: {
      podTemplate: { metadata, spec: withEnvironment(securedPodSpec(template), env) },
      ...sharedSpec(template, volumes),
    },
  };
}

/** Whose controllers look after the pool look after its Sandboxes. */
function shardOf({ metadata }: SandboxWarmPool): Record<string, string> {
  const shard = metadata.labels?.[SHARD_LABEL];
  return shard === undefined ? {} : { [SHARD_LABEL]: shard };
}

function annotations(template: SandboxTemplate, name: string): Record<string, string> {
  return {
    [TEMPLATE_REF_ANNOTATION]: template.metadata.name,
    [POD_NAME_ANNOTATION]: name,
    [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER,
  };
}

function sharedSpec(
  { spec: { service } }: SandboxTemplate,
  volumeClaimTemplates: SandboxSpec["volumeClaimTemplates"],
): Omit<PoolSandboxSpec, "podTemplate"> {
  return {
    ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
    ...(service === undefined ? {} : { service }),
  };
}

/** Tells whether a Sandbox of the pool was made for one claim; returns that claim's UID, undefined otherwise. */
export function forClaim({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[FOR_CLAIM_ANNOTATION];
}
