/** The NetworkPolicy of a template: its name, its owners, and what is wrong with it if it is not in force. Pure. @module */
import * as z from "zod";
import {
  DECORATOR_ANNOTATION,
  TEMPLATE_CONTROLLER,
  TEMPLATE_GENERATION_ANNOTATION,
  TEMPLATE_REF_HASH_LABEL,
} from "./objects/keys.ts";
import { nameHash } from "./objects/names.ts";
import {
  controllerOf,
  groupOf,
  type KubeObject,
  kubeObjectSchema,
  type ObjectMeta,
  type OwnerReference,
} from "./objects/objects.ts";
import { EXTENSIONS_GROUP } from "./crd.ts";
import { type Problem, readUnresolved } from "./unresolved.ts";

const SUFFIX = "-network-policy";
/** Longest name of an object. */
const LONGEST_NAME = 253;

/**
 * Returns the name of a template's policy: the contract's, `<template>-network-policy`. Where that would be longer than a
 * name may be, the template's name is cut and its hash follows.
 */
export function policyName(template: string): string {
  const name = `${template}${SUFFIX}`;
  if (name.length <= LONGEST_NAME) return name;
  const tail = `-${nameHash(template)}${SUFFIX}`;
  return `${template.slice(0, LONGEST_NAME - tail.length).replace(/[^a-z0-9]+$/, "")}${tail}`;
}

/** Returns the annotation that says which version of a template a policy has the rules of. */
export function policyStamp({ uid = "", generation = 0 }: ObjectMeta): string {
  return `${uid}/${generation}`;
}

/** Returns the second owner of a policy: with it the policy outlives its template, and goes with the namespace. */
export function namespaceReference({ name, uid = "" }: ObjectMeta): OwnerReference {
  return { apiVersion: "v1", kind: "Namespace", name, uid };
}

/** Tells whether a policy outlives its template. */
export function outlivesTemplate({ ownerReferences = [] }: ObjectMeta): boolean {
  return ownerReferences.some(({ apiVersion, kind }) => apiVersion === "v1" && kind === "Namespace");
}

const listedPolicySchema = kubeObjectSchema.extend({
  apiVersion: z.string().default("networking.k8s.io/v1"),
  kind: z.string().default("NetworkPolicy"),
});

/** What is read of a policy here; `spec` as the API server has it. */
export type Policy = Pick<KubeObject, "metadata"> & { spec?: unknown };

/**
 * Reads of a NetworkPolicy what is read of it here, and no more; undefined: it is none. In a list of the API server it has
 * no apiVersion and kind: those that are there before the watch begins come so.
 */
export function policyToKeep(object: unknown): KubeObject | undefined {
  const read = listedPolicySchema.safeParse(object).data;
  if (!read) return undefined;
  const { apiVersion, kind, metadata } = read;
  const { podSelector } = (read["spec"] ?? {}) as { podSelector?: unknown };
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
    spec: { podSelector },
  };
}

/** Returns the hash of the template whose sandboxes a policy selects; undefined: it selects others, or by more. */
export function selectedHash({ spec }: Policy): string | undefined {
  const { podSelector } = (spec ?? {}) as { podSelector?: { matchLabels?: Record<string, string> } };
  if (!podSelector || Object.keys(podSelector).some((key) => key !== "matchLabels")) return undefined;
  const { [TEMPLATE_REF_HASH_LABEL]: hash, ...others } = podSelector.matchLabels ?? {};
  return Object.keys(others).length === 0 ? hash : undefined;
}

/**
 * Tells whether a policy was made by the template hook and its template is gone: kept for the sandboxes that run, and free
 * for another template of the name.
 */
export function isLeftBehind({ metadata }: Policy, template: ObjectMeta): boolean {
  if (metadata.annotations?.[DECORATOR_ANNOTATION] !== TEMPLATE_CONTROLLER) return false;
  const owner = controllerOf(metadata);
  if (!owner) return true;
  // Only one object has a kind and a name at a time.
  return groupOf(owner.apiVersion) === EXTENSIONS_GROUP && owner.kind === "SandboxTemplate" &&
    owner.name === template.name && owner.uid !== template.uid;
}

/** What is read of a template here. */
type Template = { metadata: ObjectMeta; spec: { networkPolicyManagement: string } };

/**
 * What is wrong with the policy of a template.
 *
 * | state | meaning |
 * |---|---|
 * | `missing` | it does not exist, or is being deleted |
 * | `taken` | an object of its name is not controlled by the template |
 * | `outdated` | it selects other Pods, or has the rules of an earlier generation of the template |
 */
export interface PolicyFault {
  state: "missing" | "taken" | "outdated";
  message: string;
}

/**
 * Tells what keeps a template's policy from being in force; undefined: nothing does, or the template has none.
 *
 * A policy without the annotation was made before there was one: which rules it has is not known, and not doubted.
 */
export function policyFault({ metadata, spec }: Template, policy: Policy | undefined): PolicyFault | undefined {
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
  if (stamp === undefined || stamp === policyStamp(metadata)) return undefined;
  return {
    state: "outdated",
    message: `${subject} does not have the template's rules of generation ${metadata.generation}`,
  };
}

/** Whether sandboxes start without the NetworkPolicy of their template. */
export type TemplatePolicy = "required" | "optional";

/** The flag by which pool hook, binder and keeper are told. */
export const TEMPLATE_POLICY = {
  flag: "template-network-policy",
  /** @throws {RangeError} if the text is neither */
  read(text: string): TemplatePolicy {
    if (text === "required" || text === "optional") return text;
    throw new RangeError(`Cannot use --template-network-policy "${text}": use required or optional`);
  },
} as const;

/** Returns what the keeper has found out about the policy of a template that is not in force; undefined: nothing. */
export function policyProblemOf(template: ObjectMeta): Problem | undefined {
  return readUnresolved(template)?.problems.find(({ kind }) => kind === "NetworkPolicy");
}

/** Says what is wrong with a template's policy: what the keeper has found out, else what is seen. */
export function policyMessage({ metadata }: { metadata: ObjectMeta }, fault: PolicyFault): string {
  return policyProblemOf(metadata)?.message ?? fault.message;
}
