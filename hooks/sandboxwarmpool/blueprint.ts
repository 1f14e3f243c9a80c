/**
 * Computes from a template what a pool's members are made from, with secure defaults, and tells whether a member is out
 * of date. @module
 */
import type { V1PodDNSConfig, V1PodSpec } from "@kubernetes/client-node";
import type { VolumeClaimTemplate } from "../../packages/api/blueprint.ts";
import { hasEgressRules, withEgressProxy } from "../../packages/api/egress/podsettings.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { canonicalJson, sameJson } from "../../packages/api/objects/apply.ts";
import { TEMPLATE_HASH_LABEL, TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";

/** Public resolvers, because the default NetworkPolicy blocks the cluster's own resolver. */
const PUBLIC_DNS: V1PodDNSConfig = { nameservers: ["8.8.8.8", "1.1.1.1"] };
/**
 * For a sandbox that can reach the egress proxy alone. Nothing listens at this address, so names cannot be resolved,
 * and most programs learn this at once. The options are for those that wait for an answer, such as musl's resolver.
 */
const NO_DNS: V1PodDNSConfig = {
  nameservers: ["127.0.0.1"],
  options: [{ name: "timeout", value: "1" }, { name: "attempts", value: "1" }],
};

/**
 * Returns the template's Pod spec with secure defaults for the fields that the template does not set: no ServiceAccount
 * token, and public DNS if the default NetworkPolicy applies. If the template has rules for the egress proxy, the Pod
 * gets what its programs need to use the proxy. Source: Agent Sandbox API, section 3.2.
 */
export function securedPodSpec({ metadata, spec }: SandboxTemplate): V1PodSpec {
  const podSpec = spec.podTemplate.spec;
  const isFenced = spec.networkPolicyManagement !== "Unmanaged" && spec.networkPolicy === undefined;
  const dnsConfig = hasEgressRules(metadata) ? NO_DNS : PUBLIC_DNS;
  return {
    ...withEgressProxy(podSpec, metadata),
    automountServiceAccountToken: podSpec.automountServiceAccountToken ?? false,
    ...(isFenced && !podSpec.dnsPolicy ? { dnsPolicy: "None", dnsConfig } : {}),
  };
}

/**
 * Returns a hash of the fields whose change makes a member stale: the secured Pod spec, the volumes and the Service.
 * Metadata is not part of it.
 */
export function blueprintHash(template: SandboxTemplate): string {
  const { volumeClaimTemplates, service } = template.spec;
  return nameHash(canonicalJson([securedPodSpec(template), essentials(volumeClaimTemplates), service ?? null]));
}

/** Returns a hash of the secured Pod spec only. */
export function podSpecHash(template: SandboxTemplate): string {
  return nameHash(canonicalJson(securedPodSpec(template)));
}

/**
 * Tells whether a member differs from what the pool would create now. Source: Agent Sandbox API, section 3.3.3.
 *
 * | template's name | hash | spec | stale |
 * |---|---|---|---|
 * | another | any | any | yes |
 * | the same | the same | any | no |
 * | the same | another, as on members of another controller | the same | no |
 * | the same | another | another | yes |
 *
 * @param hash {@link blueprintHash} of the template
 */
export function isStale(sandbox: Sandbox, template: SandboxTemplate, hash: string): boolean {
  const { labels = {} } = sandbox.metadata;
  if (labels[TEMPLATE_REF_HASH_LABEL] !== nameHash(template.metadata.name)) return true;
  if (labels[TEMPLATE_HASH_LABEL] === hash) return false;
  return !isLike(sandbox, template);
}

/** Tells whether a Sandbox has the spec that the pool would create from the template now. Labels do not count. */
export function isLike({ spec }: Sandbox, template: SandboxTemplate): boolean {
  return sameJson(spec.podTemplate.spec, securedPodSpec(template)) &&
    sameJson(essentials(spec.volumeClaimTemplates), essentials(template.spec.volumeClaimTemplates)) &&
    (spec.service ?? null) === (template.spec.service ?? null);
}

function essentials(volumes: readonly VolumeClaimTemplate[] = []): object[] {
  return volumes.map(({ metadata, spec }) => ({ name: metadata?.name ?? "", spec }));
}
