/**
 * Declares for the guard how the claim's hook may change a claim's Sandbox: the Pod metadata that the claim asks for, and the
 * annotation that records this metadata. This hook creates no Sandboxes, because the binder does. @module
 */
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import { canonicalJson, sameJson } from "../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../packages/api/objects/json.ts";
import { CLAIM_METADATA_ANNOTATION } from "../../packages/api/objects/keys.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { type Change, type ChildRules, isSpecLeftAlone } from "../../packages/webhook/childrules.ts";
import { oncePer } from "../../packages/webhook/once.ts";

type Of = Change<SandboxClaim>;

export const childRules: ChildRules<SandboxClaim> = {
  "Sandbox.agents.x-k8s.io/v1beta1": {
    resource: "sandboxes",
    updateStrategy: "InPlace",
    isAttachment: true,
    mayChange: {
      "metadata.annotations": (change) => change.path[2] === CLAIM_METADATA_ANNOTATION && isRecord(change),
      "spec.podTemplate.metadata.labels": (change) => followsClaim(change, "labels"),
      "spec.podTemplate.metadata.annotations": (change) => followsClaim(change, "annotations"),
      "spec.podTemplate.metadata": ({ is, will }) => sameJson(is ?? {}, will ?? {}),
      // Users may change operatingMode, shutdownTime and all other fields.
      spec: (change) => isSpecLeftAlone(change, withoutMetadata),
    },
  },
};

/** If the claim has the key, it gets the claim's value. If only the record lists it, it is removed. */
function followsClaim({ path, is, will, child, observed: { parent } }: Of, map: "labels" | "annotations"): boolean {
  const key = path[4];
  if (key === undefined) return sameJson(is ?? {}, will ?? {});
  if (sameJson(is, will)) return true;
  const wanted = parent.spec.additionalPodMetadata?.[map] ?? {};
  if (Object.hasOwn(wanted, key)) return will === wanted[key];
  const record = recordOn(child)[map];
  return will === undefined && isObject(record) && Object.hasOwn(record, key) && record[key] === is;
}

/** Tells whether the record contains only metadata that the claim asks for. */
function isRecord({ will, observed: { parent } }: Of): boolean {
  const wanted = parent.spec.additionalPodMetadata ?? {};
  const record = recordOf(will);
  const isClaims = (["labels", "annotations"] as const).every((map) => {
    const share = record[map] ?? {};
    return isObject(share) && Object.entries(share).every(([key, value]) => wanted[map]?.[key] === value);
  });
  return isClaims && will === canonicalJson(record) &&
    Object.keys(record).every((map) => ["labels", "annotations"].includes(map));
}

const recordOn = oncePer(({ metadata }: KubeObject) => recordOf(metadata.annotations?.[CLAIM_METADATA_ANNOTATION]));

function recordOf(text: unknown): Json {
  try {
    const record: unknown = JSON.parse(typeof text === "string" ? text : "{}");
    return isObject(record) ? record : {};
  } catch {
    return {};
  }
}

function withoutMetadata(spec: unknown): unknown {
  if (!isObject(spec) || !isObject(spec["podTemplate"])) return spec;
  const { metadata: _, ...podTemplate } = spec["podTemplate"];
  return { ...spec, podTemplate };
}
