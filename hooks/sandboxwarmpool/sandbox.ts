/** The Sandboxes that a pool makes: members, which any claim can have. @module */
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

/** What a pool says of a Sandbox's spec; mode, shutdown time and policy belong to users. */
export type PoolSandboxSpec = Pick<SandboxSpec, "podTemplate" | "volumeClaimTemplates" | "service">;
export type PoolSandbox = DesiredObject<"Sandbox", PoolSandboxSpec>;

/** What every Sandbox begins with. */
export const SANDBOX = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" } as const;

/**
 * Builds a member. Source: Agent Sandbox API, section 3.3.2.
 *
 * @param place absent: it takes another one's place
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

/** Whose controllers look after the pool look after its Sandboxes. */
export function shardOf({ metadata }: SandboxWarmPool): Record<string, string> {
  const shard = metadata.labels?.[SHARD_LABEL];
  return shard === undefined ? {} : { [SHARD_LABEL]: shard };
}

/** Annotations of every Sandbox that is made from a template. */
export function templateAnnotations(template: SandboxTemplate, name: string): Record<string, string> {
  return {
    [TEMPLATE_REF_ANNOTATION]: template.metadata.name,
    [POD_NAME_ANNOTATION]: name,
    [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER,
  };
}

/** What a Sandbox takes over from its template beside the Pod. */
export function sharedSpec(
  { spec: { service } }: SandboxTemplate,
  volumeClaimTemplates: SandboxSpec["volumeClaimTemplates"],
): Omit<PoolSandboxSpec, "podTemplate"> {
  return {
    ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
    ...(service === undefined ? {} : { service }),
  };
}

/** Returns the UID of the claim that a pool made the Sandbox for, as pools did before there was a binder; else undefined. */
export function forClaim({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[FOR_CLAIM_ANNOTATION];
}
