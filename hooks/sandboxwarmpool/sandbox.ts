/** Builds the Sandboxes that a pool creates: members that any claim can get. @module */
import type { Sandbox, SandboxSpec } from "../../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import { joinedMetadata } from "../../packages/api/claims/podmetadata.ts";
import {
  CLAIM_CONTROLLER,
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
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { controllerReference, type DesiredObject } from "../../packages/api/objects/objects.ts";
import { blueprintHash, podSpecHash, securedPodSpec } from "./blueprint.ts";
import { type Place, placeText } from "./sequence.ts";

/** The fields of a Sandbox's spec that a pool sets. Mode, shutdown time and shutdown policy belong to users. */
export type PoolSandboxSpec = Pick<SandboxSpec, "podTemplate" | "volumeClaimTemplates" | "service">;
export type PoolSandbox = DesiredObject<"Sandbox", PoolSandboxSpec>;

/** The fields with which every Sandbox object begins. */
export const SANDBOX = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" } as const;

/**
 * Builds a member. Source: Agent Sandbox API, section 3.3.2.
 *
 * @param place absent: the member replaces another one, and has no number of its own
 */
export function buildMember(
  pool: SandboxWarmPool,
  template: SandboxTemplate,
  name: string,
  place?: Place,
): PoolSandbox {
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
      annotations: {
        ...templateAnnotations(template, name),
        ...(place ? { [POOL_SEQUENCE_ANNOTATION]: placeText(place) } : {}),
      },
      ownerReferences: [controllerReference(pool)],
    },
    spec: {
      podTemplate: { metadata: podMetadata, spec: securedPodSpec(template) },
      ...sharedSpec(template, template.spec.volumeClaimTemplates),
    },
  };
}

/**
 * Returns the pool's shard label: the controllers that are responsible for a pool are also responsible for its
 * Sandboxes.
 */
export function shardOf({ metadata }: SandboxWarmPool): Record<string, string> {
  const shard = metadata.labels?.[SHARD_LABEL];
  return shard === undefined ? {} : { [SHARD_LABEL]: shard };
}

/** Annotations of every Sandbox that is created from a template. */
export function templateAnnotations(template: SandboxTemplate, name: string): Record<string, string> {
  return {
    [TEMPLATE_REF_ANNOTATION]: template.metadata.name,
    [POD_NAME_ANNOTATION]: name,
    [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER,
  };
}

/** The fields, besides the Pod, that a Sandbox gets from its template. */
export function sharedSpec(
  { spec: { service } }: SandboxTemplate,
  volumeClaimTemplates: SandboxSpec["volumeClaimTemplates"],
): Omit<PoolSandboxSpec, "podTemplate"> {
  return {
    ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
    ...(service === undefined ? {} : { service }),
  };
}

/**
 * Returns the UID of the claim for which a pool created the Sandbox; undefined: it was not created for a claim. Pools
 * did this before hookbox had a binder.
 */
export function forClaim({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[FOR_CLAIM_ANNOTATION];
}
