/** A Sandbox as it changes hands: the pool's last word on it, and the claim's first. One PUT, or none. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import { boundMetadata } from "../../claims/boundmetadata.ts";
import type { PodMetadata } from "../../claims/podmetadata.ts";
import {
  ASSIGNED_AT_ANNOTATION,
  CLAIM_METADATA_ANNOTATION,
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  POD_TEMPLATE_HASH_LABEL,
  SAFE_TO_EVICT_ANNOTATION,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_HASH_LABEL,
  TRACE_CONTEXT_ANNOTATION,
  WARM_POOL_LABEL,
} from "../../lib/keys.ts";
import { controllerReference } from "../../lib/objects.ts";
import { appliedOf } from "./applied.ts";
import { forClaim, type PoolSandbox, type PoolSandboxSpec } from "./sandbox.ts";
import type { View } from "./view.ts";

/** Labels of a member that a claim's Sandbox does not have. `controller-uid` stays: Metacontroller insists on it. */
const POOL_LABELS = [WARM_POOL_LABEL, POD_TEMPLATE_HASH_LABEL, TEMPLATE_HASH_LABEL, CREATED_BY_LABEL];

/**
 * Returns the Sandbox as the claim's: owner, labels and Pod metadata are the claim's, all else is as last applied.
 * Source: Agent Sandbox API, section 3.5.3 b.
 */
export function handedOver({ pool, template }: View, sandbox: Sandbox, claim: SandboxClaim, now: Date): PoolSandbox {
  const applied = appliedOf(sandbox, pool);
  const client = claim.metadata.labels?.[CREATED_BY_LABEL];
  const labels: Record<string, string> = {
    ...without(applied.metadata.labels ?? {}, POOL_LABELS),
    [CLAIM_UID_LABEL]: claim.metadata.uid ?? "",
    ...(client === undefined ? {} : { [CREATED_BY_LABEL]: client }),
  };
  const annotations = { ...applied.metadata.annotations, [ASSIGNED_AT_ANNOTATION]: now.toISOString() };
  const owned = { ...applied.metadata, labels, annotations, ownerReferences: [controllerReference(claim)] };
  if (forClaim(sandbox) !== undefined) return { ...applied, metadata: owned };

  const base = template ? template.spec.podTemplate.metadata ?? {} : withoutPoolMetadata(sandbox);
  const { metadata, record } = boundMetadata(base, claim, labels[TEMPLATE_REF_HASH_LABEL]);
  const trace = claim.metadata.annotations?.[TRACE_CONTEXT_ANNOTATION];
  const traced = trace === undefined ? {} : { [TRACE_CONTEXT_ANNOTATION]: trace };
  return {
    ...applied,
    metadata: { ...owned, annotations: { ...annotations, [CLAIM_METADATA_ANNOTATION]: record, ...traced } },
    // The keeper may have taken the Pod's spec out of what was applied: then it stays out.
    spec: { ...applied.spec, podTemplate: { ...applied.spec?.podTemplate, metadata } } as PoolSandboxSpec,
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
