/** Computes name and owners of a template's NetworkPolicy, and finds out why it is not in force. @module */
import {
  DECORATOR_ANNOTATION,
  TEMPLATE_CONTROLLER,
  TEMPLATE_GENERATION_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
} from "./objects/keys.ts";
import { reachesProxyOnly } from "./egress/podsettings.ts";
import { isObject } from "./objects/json.ts";
import { nameHash } from "./objects/names.ts";
import { controllerOf, groupOf, type KubeObject, type ObjectMeta, type OwnerReference } from "./objects/objects.ts";
import { EXTENSIONS_GROUP } from "./crd.ts";
import { type Problem, readUnresolved } from "./keeperreports.ts";

/**
 * How long a missing or outdated policy is not reported, in milliseconds: the template's hook needs a moment to write
 * it.
 */
export const POLICY_GRACE_MS = 10_000;

const SUFFIX = "-network-policy";
/** Longest name of an object, in characters. */
const LONGEST_NAME = 253;

/**
 * Returns the name of a template's policy: `<template>-network-policy`, as in Agent Sandbox. If that is too long for a
 * name, the template's name is cut, and its hash follows.
 */
export function policyName(template: string): string {
  const name = `${template}${SUFFIX}`;
  if (name.length <= LONGEST_NAME) return name;
  const tail = `-${nameHash(template)}${SUFFIX}`;
  return `${template.slice(0, LONGEST_NAME - tail.length).replace(/[^a-z0-9]+$/, "")}${tail}`;
}

/**
 * Returns the value of a policy's annotation: UID and generation of the template from which the rules were computed, and
 * whether they are those of the egress proxy. A change of annotations does not change the generation.
 */
export function policyStamp(template: Template): string {
  const { uid = "", generation = 0 } = template.metadata;
  return `${uid}/${generation}${reachesProxyOnly(template) ? "/egress" : ""}`;
}

/** Returns the second owner of a policy, with which the policy outlives its template until the namespace is deleted. */
export function namespaceReference({ name, uid = "" }: ObjectMeta): OwnerReference {
  return { apiVersion: "v1", kind: "Namespace", name, uid };
}

/** Tells whether a policy outlives its template. */
export function outlivesTemplate({ ownerReferences = [] }: ObjectMeta): boolean {
  return ownerReferences.some(({ apiVersion, kind }) => apiVersion === "v1" && kind === "Namespace");
}

/** The fields of a NetworkPolicy that this module reads. */
export type Policy = Pick<KubeObject, "metadata"> & { spec?: unknown };

/**
 * Returns the fields of a NetworkPolicy that this module reads; undefined: the object is not a NetworkPolicy. Items of
 * an API server's list have no apiVersion and kind, so the function adds them.
 */
export function policyToKeep(object: unknown): KubeObject | undefined {
  if (!isObject(object) || !isObject(object["metadata"])) return undefined;
  const { apiVersion = "networking.k8s.io/v1", kind = "NetworkPolicy", metadata, spec } = object as
    & Partial<KubeObject>
    & { metadata: ObjectMeta; spec?: { podSelector?: unknown } };
  const { namespace, name, uid, resourceVersion, deletionTimestamp, ownerReferences } = metadata;
  const known = { namespace, uid, resourceVersion, deletionTimestamp, ownerReferences };
  const annotations = [DECORATOR_ANNOTATION, TEMPLATE_GENERATION_ANNOTATION].flatMap((key) => {
    const value = metadata.annotations?.[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const kept = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return {
    apiVersion,
    kind,
    metadata: { name, ...kept, annotations: Object.fromEntries(annotations) },
    spec: { podSelector: spec?.podSelector },
  };
}

/**
 * Returns the hash of the template whose sandboxes a policy selects; undefined: the selector has more than this label,
 * or does not have it.
 */
export function selectedHash({ spec }: Policy): string | undefined {
  const { podSelector } = (spec ?? {}) as { podSelector?: { matchLabels?: Record<string, string> } };
  if (!podSelector || Object.keys(podSelector).some((key) => key !== "matchLabels")) return undefined;
  const { [TEMPLATE_REF_HASH_LABEL]: hash, ...others } = podSelector.matchLabels ?? {};
  return Object.keys(others).length === 0 ? hash : undefined;
}

/**
 * Tells whether the template hook created a policy whose template was deleted. Such a policy stays for the sandboxes that
 * still run, and a new template of the same name may take it over.
 */
export function isLeftBehind({ metadata }: Policy, template: ObjectMeta): boolean {
  if (metadata.annotations?.[DECORATOR_ANNOTATION] !== TEMPLATE_CONTROLLER) return false;
  const owner = controllerOf(metadata);
  if (!owner) return true;
  // If a template of this name has another UID, the owner was deleted: only one object of a kind has a name at a time.
  return groupOf(owner.apiVersion) === EXTENSIONS_GROUP && owner.kind === "SandboxTemplate" &&
    owner.name === template.name && owner.uid !== template.uid;
}

/** The fields of a template that this module reads. */
type Template = { metadata: ObjectMeta; spec: { networkPolicyManagement: string; networkPolicy?: unknown } };

/**
 * The reason why the policy of a template is not in force.
 *
 * | state | meaning |
 * |---|---|
 * | `missing` | it does not exist, or is being deleted |
 * | `taken` | an object with its name is not controlled by the template |
 * | `outdated` | it selects other Pods, or has the rules of an earlier generation of the template |
 */
export interface PolicyFault {
  state: "missing" | "taken" | "outdated";
  message: string;
}

/**
 * Returns why a template's policy is not in force; undefined: it is in force, or the template has none.
 *
 * Earlier versions of hookbox created policies without the annotation. Their rules count as up to date.
 */
export function policyFault(template: Template, policy: Policy | undefined): PolicyFault | undefined {
  const { metadata, spec } = template;
  if (spec.networkPolicyManagement === "Unmanaged") return undefined;
  const name = policyName(metadata.name);
  const subject = `NetworkPolicy "${name}"`;
  if (!policy) return { state: "missing", message: `${subject} does not exist` };
  if (policy.metadata.deletionTimestamp !== undefined) {
    return { state: "missing", message: `${subject} is being deleted` };
  }
  if (controllerOf(policy.metadata)?.uid !== metadata.uid) {
    return {
      state: "taken",
      message: `refusing to update ${subject} as it is not controlled by SandboxTemplate "${metadata.name}"`,
    };
  }
  if (selectedHash(policy) !== nameHash(metadata.name)) {
    return { state: "outdated", message: `${subject} does not select the template's Pods alone` };
  }
  const stamp = policy.metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION];
  const wanted = policyStamp(template);
  if (stamp === wanted || (stamp === undefined && !reachesProxyOnly(template))) return undefined;
  const missing = stamp === `${metadata.uid}/${metadata.generation}`
    ? "for the egress proxy alone"
    : `of generation ${metadata.generation}`;
  return { state: "outdated", message: `${subject} does not have the template's rules ${missing}` };
}

/** Whether sandboxes start without the NetworkPolicy of their template. */
export type TemplatePolicy = typeof TEMPLATE_POLICIES[number];
export const TEMPLATE_POLICIES = ["required", "optional"] as const;

/** Returns the problem that the keeper has reported about a template's policy; undefined: it has reported none. */
export function policyProblemOf(template: ObjectMeta): Problem | undefined {
  return readUnresolved(template)?.problems.find(({ kind }) => kind === "NetworkPolicy");
}

/**
 * Returns the message about a template's policy: the keeper's message if there is one, otherwise that of the observed
 * fault.
 */
export function policyMessage({ metadata }: { metadata: ObjectMeta }, fault: PolicyFault): string {
  return policyProblemOf(metadata)?.message ?? fault.message;
}
