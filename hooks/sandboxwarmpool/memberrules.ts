/**
 * Declares for the guard what a pool's new member must look like. The rules are computed from pool and template, without the
 * code that builds the member.
 * Source: Agent Sandbox API, sections 3.2 and 3.3.2. @module
 */
import type { V1PodSpec } from "@kubernetes/client-node";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type SandboxTemplate, sandboxTemplateSchema } from "../../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";
import type { TemplatePolicy } from "../../packages/api/templatepolicy.ts";
import { canonicalJson, sameJson } from "../../packages/api/objects/apply.ts";
import type { Json } from "../../packages/api/objects/json.ts";
import {
  CLAIM_CONTROLLER,
  CLAIM_UID_LABEL,
  CREATED_BY_LABEL,
  DECORATOR_ANNOTATION,
  FOR_CLAIM_ANNOTATION,
  LAUNCH_TYPE_LABEL,
  POD_NAME_ANNOTATION,
  POD_TEMPLATE_HASH_LABEL,
  POOL_SEQUENCE_ANNOTATION,
  REFILL_ANNOTATION,
  SAFE_TO_EVICT_ANNOTATION,
  SHARD_LABEL,
  TEMPLATE_GENERATION_ANNOTATION,
  TEMPLATE_HASH_LABEL,
  TEMPLATE_REF_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
  WARM_POOL_LABEL,
} from "../../packages/api/objects/keys.ts";
import { isDNSLabel, nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";
import { differences } from "../../packages/webhook/fieldchanges.ts";
import { listAll, type Observed } from "../../packages/webhook/metacontroller.ts";
import { oncePer } from "../../packages/webhook/once.ts";
import { isProxied, proxiedSpec } from "./egressrules.ts";

/**
 * Fields of a member's Pod spec that this hook sets if the template does not, and their allowed values. If you add a rule to
 * `securedPodSpec` (blueprint.ts), declare it here. Otherwise the guard refuses the members.
 */
const ADDED_FIELDS: Readonly<Record<string, unknown>> = { automountServiceAccountToken: false };
/** Fields that are added if the default NetworkPolicy blocks the cluster's resolver and the template names none. */
const ADDED_DNS = { dnsPolicy: "None", dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] } };
/** The same for templates with rules for the egress proxy. */
const REFUSED_DNS = {
  dnsPolicy: "None",
  dnsConfig: {
    nameservers: ["127.0.0.1"],
    options: [{ name: "timeout", value: "1" }, { name: "attempts", value: "1" }],
  },
};

/** Lists the fields in which a new member differs from what pool and template ask for. */
export function wrongWithMember(
  member: DesiredObject,
  observed: Observed<SandboxWarmPool>,
  now: Date,
  templateNetworkPolicy: TemplatePolicy,
): string[] {
  const pool = observed.parent;
  const template = templateOf(observed);
  if (!template) return ["a member without a template"];
  if (templateNetworkPolicy === "required" && !isFenced(observed, template)) {
    return ["a member without its NetworkPolicy"];
  }
  const { name, annotations = {} } = member.metadata;
  const place = annotations[POOL_SEQUENCE_ANNOTATION] ?? "";
  const refill = annotations[REFILL_ANNOTATION] === "limited" ? { [REFILL_ANNOTATION]: "limited" } : {};
  const tracked = { [WARM_POOL_LABEL]: nameHash(pool.metadata.name), ...trackedBy(template) };
  const shard = pool.metadata.labels?.[SHARD_LABEL];
  const { uid = "", name: poolName } = pool.metadata;
  const { labels: podLabels = {}, annotations: podAnnotations = {} } = template.spec.podTemplate.metadata ?? {};
  const { volumeClaimTemplates, service } = template.spec;
  const wrong = differences(member, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name,
      labels: {
        ...tracked,
        [LAUNCH_TYPE_LABEL]: "warm",
        [CREATED_BY_LABEL]: "controller",
        ...(shard === undefined ? {} : { [SHARD_LABEL]: shard }),
      },
      annotations: {
        [TEMPLATE_REF_ANNOTATION]: template.metadata.name,
        [POD_NAME_ANNOTATION]: name,
        [DECORATOR_ANNOTATION]: CLAIM_CONTROLLER,
        [POOL_SEQUENCE_ANNOTATION]: place,
        ...refill,
      },
      ownerReferences: [{
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxWarmPool",
        name: poolName,
        uid,
        controller: true,
        blockOwnerDeletion: true,
      }],
    },
    spec: {
      podTemplate: {
        metadata: {
          labels: { ...podLabels, ...tracked },
          annotations: { [SAFE_TO_EVICT_ANNOTATION]: "true", ...podAnnotations },
        },
        spec: securedSpec(template),
      },
      ...(volumeClaimTemplates === undefined ? {} : { volumeClaimTemplates }),
      ...(service === undefined ? {} : { service }),
    },
  });
  return isNext(name, place, observed, now) ? wrong : [...wrong, "metadata.name"];
}

/**
 * Tells whether the template's NetworkPolicy is in force, or none is needed. The policy is in force if it belongs to
 * the template, selects all its Pods and has the rules of its generation. Just after an update of the hook,
 * Metacontroller may not send policies yet: this counts as "in force".
 */
function isFenced({ related }: Observed<SandboxWarmPool>, { metadata, spec }: SandboxTemplate): boolean {
  const policies = related["NetworkPolicy.networking.k8s.io/v1"];
  if (!policies || spec.networkPolicyManagement === "Unmanaged") return true;
  const { name, uid = "", generation = 0 } = metadata;
  const isForProxy = isProxied(metadata.annotations ?? {}) && spec.networkPolicy === undefined;
  const version = `${uid}/${generation}${isForProxy ? "/egress" : ""}`;
  const selector = { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: nameHash(name) } };
  return Object.values(policies).some((policy) => {
    const { deletionTimestamp, ownerReferences = [], annotations = {} } = policy.metadata;
    const rules = annotations[TEMPLATE_GENERATION_ANNOTATION] ?? `${uid}/${generation}`;
    const isTemplates = ownerReferences.some((owner) => owner.controller === true && owner.uid === uid);
    const { podSelector } = (policy["spec"] ?? {}) as Json;
    return deletionTimestamp === undefined && isTemplates && rules === version &&
      sameJson(podSelector, selector);
  });
}

/** Returns the pool's template; undefined: it does not exist. */
export const templateOf = oncePer(({ parent, related }: Observed<SandboxWarmPool>): SandboxTemplate | undefined => {
  const found = listAll(related).find(({ kind, metadata }) =>
    kind === "SandboxTemplate" && metadata.name === parent.spec.sandboxTemplateRef.name
  );
  return found && sandboxTemplateSchema.parse(found);
});

/** Labels by which NetworkPolicies, pools and rollouts find a member and its Pod. */
const trackedBy = oncePer((template: SandboxTemplate): Record<string, string> => {
  const spec = securedSpec(template);
  const volumes = (template.spec.volumeClaimTemplates ?? []).map((volume) => {
    return { name: volume.metadata?.name ?? "", spec: volume.spec };
  });
  return {
    [TEMPLATE_REF_HASH_LABEL]: nameHash(template.metadata.name),
    [POD_TEMPLATE_HASH_LABEL]: nameHash(canonicalJson(spec)),
    [TEMPLATE_HASH_LABEL]: nameHash(canonicalJson([spec, volumes, template.spec.service ?? null])),
  };
});

/** Returns the Pod spec of a member: the template's spec, and the fields that this hook adds. */
export const securedSpec = oncePer(({ metadata: { annotations = {} }, spec }: SandboxTemplate): V1PodSpec => {
  const wanted = spec.podTemplate.spec;
  const isFenced = spec.networkPolicyManagement !== "Unmanaged" && spec.networkPolicy === undefined;
  const hasOwnDNS = Boolean(wanted.dnsPolicy) || !isFenced;
  const isTold = (field: string) => (wanted as unknown as Json)[field] !== undefined;
  const added = Object.entries(ADDED_FIELDS).filter(([field]) => !isTold(field));
  const dns = hasOwnDNS ? {} : isProxied(annotations) ? REFUSED_DNS : ADDED_DNS;
  return { ...proxiedSpec(wanted, annotations), ...Object.fromEntries(added), ...dns };
});

/** Highest number of a member: JavaScript's numbers are not exact above it. */
const LAST_NUMBER = 2 ** 52;

/** Tells whether name and place belong to a number that no member has had. */
function isNext(name: string, place: string, observed: Observed<SandboxWarmPool>, now: Date): boolean {
  const { metadata } = observed.parent;
  const [number = NaN, first = NaN] = place.split("/").map(Number);
  const secret = bytesToHex(sha256(utf8ToBytes(`${metadata.uid}/${number}`))).slice(0, 5);
  const isCounted = Number.isInteger(number) && Number.isInteger(first) && highestNumber(observed) < first;
  const label = metadata.name.replaceAll(".", "-").slice(0, 20).replace(/-+$/, "");
  return isCounted && first <= number && number <= highestAllowedNumber(observed, now) && isDNSLabel(name) &&
    name.startsWith(label) &&
    name.endsWith(`-${number.toString(36)}${secret}`);
}

/**
 * Returns the highest number in the pool's status and on those of its Sandboxes that were never bound to a claim; 0:
 * there is none.
 */
export const highestNumber = oncePer((observed: Observed<SandboxWarmPool>): number =>
  Math.max(counted(observed.parent.status?.sequence), arrivedNumber(observed))
);

/** The same for all its Sandboxes. */
export const highestOfAll = oncePer((observed: Observed<SandboxWarmPool>): number =>
  Math.max(counted(observed.parent.status?.sequence), arrivedOfAll(observed))
);

/** Returns the highest number of the observed Sandboxes that were never bound to a claim; 0: there is none. */
export const arrivedNumber = oncePer(({ children }: Observed<SandboxWarmPool>): number =>
  highestOf(listAll(children).filter((sandbox) => !isUsed(sandbox)))
);

/** The same for all observed Sandboxes. */
export const arrivedOfAll = oncePer(({ children }: Observed<SandboxWarmPool>): number => highestOf(listAll(children)));

function highestOf(sandboxes: KubeObject[]): number {
  const numbers = sandboxes.map(({ metadata }) => numberOf(metadata.annotations?.[POOL_SEQUENCE_ANNOTATION]));
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

/** Returns a number of the status; 0: it has none, or an invalid one. */
export function counted(number = 0): number {
  return number <= LAST_NUMBER ? number : 0;
}

/** The first number of a pool is up to this many milliseconds after the pool's creation. The UID decides how many. */
const MS_OF_UID = 1000;
/** The number of members that one answer may create, unless `spec.replicas` is higher. */
const MOST_NEW = 1000;

/**
 * Returns the highest number that an answer may use. The first number of a pool comes from the milliseconds of its
 * creation. Later numbers continue from those in its status and on its Sandboxes. The hook skips numbers whose names
 * are taken.
 */
function highestAllowedNumber(observed: Observed<SandboxWarmPool>, now: Date): number {
  const { metadata, spec } = observed.parent;
  const born = Date.parse(metadata.creationTimestamp ?? "");
  const begin = (Number.isNaN(born) ? now.getTime() : born) + MS_OF_UID;
  return Math.max(highestOfAll(observed), begin) + Math.max(MOST_NEW, spec.replicas) + sizeOf(observed);
}

const sizeOf = oncePer(({ children }: Observed<SandboxWarmPool>): number => listAll(children).length);

/** Tells whether a Sandbox was bound to a claim, or created for one. */
export function isUsed({ metadata: { labels = {}, annotations = {} } }: KubeObject): boolean {
  return labels[CLAIM_UID_LABEL] !== undefined || annotations[FOR_CLAIM_ANNOTATION] !== undefined;
}

/** Returns the number of a member; 0: it has none, or an invalid one. */
export function numberOf(place = ""): number {
  const [number = NaN, first = NaN] = place.split("/").map(Number);
  const isPlace = Number.isInteger(number) && Number.isInteger(first) && 0 < first && first <= number;
  return isPlace && number <= LAST_NUMBER && number - first < 1000 ? number : 0;
}
