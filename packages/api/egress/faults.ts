/** Finds out what is wrong with the rules that the egress proxy has for a sandbox. Pure. @module */
import type { Evidence, ObjectRef } from "../diagnosis/finding.ts";
import {
  EGRESS_ALLOW_ANNOTATION,
  EGRESS_CLAIM_HEADERS_ANNOTATION,
  EGRESS_HEADERS_ANNOTATION,
} from "../objects/keys.ts";
import { hasEgressRules } from "./podsettings.ts";
import { allowsSome, type Policy, policyFrom, readAllowed, readHeaders, type Source } from "./policy.ts";

/** An object that may have the annotations: a template, a claim, or a Sandbox without a template. */
export interface RulesOwner {
  ref: ObjectRef;
  annotations?: Record<string, string> | undefined;
}

/** The keys of a Secret; `null`: the Secret does not exist; undefined: it could not be read. */
export type SecretKeys = readonly string[] | null | undefined;

/** Lists the Secrets that the headers of an object name, each once. */
export function secretsOf({ annotations = {} }: Pick<RulesOwner, "annotations">): string[] {
  const rules = readHeaders(annotations[EGRESS_HEADERS_ANNOTATION] ?? "");
  return typeof rules === "string" ? [] : [...new Set(rules.map(({ secret }) => secret))];
}

/**
 * Lists the faults, those that make the proxy refuse everything first. Without annotations, there are none.
 *
 * @param owner the template, or a Sandbox without a template
 * @param keysOf returns the keys of a Secret of the namespace
 */
export function faultsOfRules(
  owner: RulesOwner,
  claim: RulesOwner | undefined,
  keysOf: (secret: string) => SecretKeys,
): Evidence[] {
  if (!hasEgressRules(owner)) return claim && hasEgressRules(claim) ? [faultOf(owner, sourceOf(owner))] : [];
  const own = policyFrom(sourceOf(owner));
  if (typeof own === "string") return [faultOf(owner, sourceOf(owner))];
  const narrowing = claim && hasEgressRules(claim) ? policyFrom(sourceOf(owner), sourceOf(claim)) : own;
  if (claim && typeof narrowing === "string") return [faultOf(claim, sourceOf(owner), sourceOf(claim))];
  return [
    ...missingSecrets(owner, keysOf),
    ...claim ? [...missingSecrets(claim, keysOf), ...notInTemplate(owner, claim)] : [],
  ];
}

/** A policy that cannot be read says why. */
function faultOf({ ref, annotations = {} }: RulesOwner, ...sources: [Source, Source?]): Evidence {
  const allow = annotations[EGRESS_ALLOW_ANNOTATION];
  const isHeaders = annotations[EGRESS_HEADERS_ANNOTATION] !== undefined &&
    (allow === undefined || ref.kind === "SandboxClaim" || typeof readAllowed(allow) !== "string");
  const where = `metadata.annotations[${isHeaders ? EGRESS_HEADERS_ANNOTATION : EGRESS_ALLOW_ANNOTATION}]`;
  return { object: ref, where, text: String(policyFrom(...sources)) };
}

function missingSecrets({ ref, annotations = {} }: RulesOwner, keysOf: (secret: string) => SecretKeys): Evidence[] {
  const rules = readHeaders(annotations[EGRESS_HEADERS_ANNOTATION] ?? "");
  if (typeof rules === "string") return [];
  const where = `metadata.annotations[${EGRESS_HEADERS_ANNOTATION}]`;
  return rules.flatMap(({ hosts, header, secret, key }): Evidence[] => {
    const keys = keysOf(secret);
    if (keys === undefined || keys?.includes(key)) return [];
    const problem = keys === null ? "which does not exist" : `which has no key ${key}`;
    const text = `requests to ${hosts} get header ${header} from Secret ${secret}, ${problem}: they are refused`;
    return [{ object: ref, where, text }];
  });
}

/** A claim can only narrow the list of its template, so what only the claim has is not reached. */
function notInTemplate(owner: RulesOwner, { ref, annotations = {} }: RulesOwner): Evidence[] {
  const policy = policyFrom(sourceOf(owner));
  const words = (annotations[EGRESS_ALLOW_ANNOTATION] ?? "").split(",").map((word) => word.trim());
  if (typeof policy === "string") return [];
  return words.flatMap((word): Evidence[] => {
    const entries = readAllowed(word);
    if (typeof entries === "string" || entries.every((entry) => allowsSome(policy, entry))) return [];
    const text = `"${word}" is not reached, because ${owner.ref.kind} ${owner.ref.name} does not allow it`;
    return [{ object: ref, where: `metadata.annotations[${EGRESS_ALLOW_ANNOTATION}]`, text }];
  }).concat(unusedHeaders(owner, { ref, annotations }, policy));
}

/** A claim's headers are only for hosts that its template allows. */
function unusedHeaders(owner: RulesOwner, { ref, annotations = {} }: RulesOwner, policy: Policy): Evidence[] {
  const rules = readHeaders(annotations[EGRESS_HEADERS_ANNOTATION] ?? "");
  if (typeof rules === "string") return [];
  return rules.filter((rule) => !allowsSome(policy, { ...rule, port: rule.port ?? 443 })).map(({ hosts }) => ({
    object: ref,
    where: `metadata.annotations[${EGRESS_HEADERS_ANNOTATION}]`,
    text: `"${hosts}" is not reached, because ${owner.ref.kind} ${owner.ref.name} does not allow it`,
  }));
}

function sourceOf({ ref: { kind, name }, annotations = {} }: RulesOwner): Source {
  return {
    owner: `${kind} ${name}`,
    allow: annotations[EGRESS_ALLOW_ANNOTATION],
    headers: annotations[EGRESS_HEADERS_ANNOTATION],
    claimHeaders: annotations[EGRESS_CLAIM_HEADERS_ANNOTATION],
  };
}
