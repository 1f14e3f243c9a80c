/** Checks which labels and annotations a claim may add to its Pod, and merges metadata. @module */
import type { ClaimProblem } from "./problem.ts";
import { SAFE_TO_EVICT_ANNOTATION } from "../objects/keys.ts";
import { isDNSSubdomain } from "../objects/names.ts";

/** Labels and annotations of a Pod. An absent map is the same as an empty one. */
export interface PodMetadata {
  labels?: Record<string, string> | undefined;
  annotations?: Record<string, string> | undefined;
}

/** Domains of label keys that claims may use if the installation does not set others. */
export const DEFAULT_LABEL_DOMAINS: readonly string[] = ["sandbox.users.io"];

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LONGEST_NAME = 63;
const RESERVED_DOMAINS = ["kubernetes.io", "k8s.io", "agents.x-k8s.io"];

/**
 * Returns what is wrong with a claim's `additionalPodMetadata`: the first fault in the order of the keys; undefined:
 * nothing.
 *
 * | part | rule |
 * |---|---|
 * | label key | a qualified name whose prefix is one of `domains` or below one of them |
 * | label value | a valid label value; `app: sandbox-router` is reserved for the router |
 * | annotation key | a qualified name whose domain is not reserved for Kubernetes or Agent Sandbox, or safe-to-evict |
 * | annotation key, if `allowedAnnotationDomains` is set | also: a prefix that is one of `allowedAnnotationDomains` or below one of them |
 *
 * Source: Agent Sandbox API, section 3.5.4.
 *
 * @param allowedAnnotationDomains undefined: all domains that are not reserved
 */
export function metadataProblem(
  additional: PodMetadata | undefined,
  domains: readonly string[],
  allowedAnnotationDomains?: readonly string[],
): ClaimProblem | undefined {
  if (!additional) return undefined;
  const message = firstFault("label", additional.labels, (key, value) => labelFault(key, value, domains)) ??
    firstFault("annotation", additional.annotations, (key) => annotationFault(key, allowedAnnotationDomains));
  return message === undefined ? undefined : { reason: "InvalidMetadata", message };
}

/**
 * Returns for which key a claim wants another value than it already has; undefined: for none.
 *
 * @param base the metadata that the Pod has without the claim
 */
export function metadataConflict(base: PodMetadata, additional: PodMetadata | undefined): ClaimProblem | undefined {
  if (!additional) return undefined;
  const conflict = conflictIn("label", base.labels, additional.labels) ??
    conflictIn("annotation", base.annotations, additional.annotations);
  return conflict === undefined ? undefined : { reason: "ReconcilerError", message: `${CONFLICT}${conflict}` };
}

const CONFLICT = "Error seen: metadata override conflict: ";

/**
 * Tells whether the message of a claim's Ready condition comes from {@link metadataConflict}. The reason alone does not
 * show it: the condition may be a copy of the Sandbox's.
 */
export function isMetadataConflict(message: string): boolean {
  return message.startsWith(CONFLICT);
}

/** Merges metadata: later parts replace the values of earlier ones. If the resulting map is empty, it is omitted. */
export function joinedMetadata(...parts: PodMetadata[]): PodMetadata {
  return present({
    labels: Object.assign({}, ...parts.map(({ labels }) => labels)),
    annotations: Object.assign({}, ...parts.map(({ annotations }) => annotations)),
  });
}

/** Returns metadata without the entries of `removed`. An entry whose value has changed since then stays. */
export function withoutMetadata(metadata: PodMetadata, removed: PodMetadata): PodMetadata {
  return present({
    labels: without(metadata.labels, removed.labels),
    annotations: without(metadata.annotations, removed.annotations),
  });
}

function labelFault(key: string, value: string, domains: readonly string[]): string | undefined {
  const domain = domainOf(key);
  if (key.toLowerCase() === "app" && value.toLowerCase() === "sandbox-router") return "the value belongs to the router";
  const fault = nameFault(key);
  if (fault) return fault;
  const notAllowed = domainFault(domain, domains);
  if (notAllowed) return notAllowed;
  const isValue = value === "" || (value.length <= LONGEST_NAME && NAME.test(value));
  return isValue ? undefined : "the value is not a label value";
}

function domainFault(domain: string | undefined, domains: readonly string[]): string | undefined {
  if (domain === undefined) return "the key must have a domain prefix";
  if (domains.some((allowed) => isWithin(domain, allowed))) return undefined;
  return `domain "${domain}" is not allowed, use one of: ${domains.join(", ")}`;
}

function annotationFault(key: string, domains: readonly string[] | undefined): string | undefined {
  const domain = domainOf(key);
  const isReserved = domain !== undefined && key !== SAFE_TO_EVICT_ANNOTATION &&
    RESERVED_DOMAINS.some((reserved) => isWithin(domain, reserved));
  const fault = nameFault(key) ?? (isReserved ? `domain "${domain}" is reserved` : undefined);
  return fault ?? (domains && domainFault(domain, domains));
}

function nameFault(key: string): string | undefined {
  const domain = domainOf(key);
  const name = domain === undefined ? key : key.slice(domain.length + 1);
  const isQualified = name.length <= LONGEST_NAME && NAME.test(name) &&
    (domain === undefined || isDNSSubdomain(domain));
  return isQualified ? undefined : "the key is not a qualified name";
}

function firstFault(
  what: string,
  map: StringMap = {},
  faultOf: (key: string, value: string) => string | undefined,
): string | undefined {
  const found = firstFound(map, faultOf);
  return found && `invalid additionalPodMetadata: failed to validate ${what} "${found.key}": ${found.fault}`;
}

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash < 0 ? undefined : key.slice(0, slash);
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}

type StringMap = Record<string, string>;

function conflictIn(what: string, base: StringMap = {}, wanted: StringMap = {}): string | undefined {
  const found = firstFound(wanted, (key, value) => Object.hasOwn(base, key) && base[key] !== value || undefined);
  if (!found) return undefined;
  const { key } = found;
  const value = wanted[key];
  return `${what} "${key}" is defined in template with value "${base[key]}", but claim requests "${value}"`;
}

function without(map: StringMap = {}, removed: StringMap = {}): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key, value]) => removed[key] !== value));
}

function present({ labels = {}, annotations = {} }: PodMetadata): PodMetadata {
  return {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
}

/**
 * Returns the first entry, in the order of the keys, for which `find` returns a result; undefined: there is none. It
 * does not sort the keys, and calls `find` only for keys that come before the best entry so far.
 */
function firstFound<F>(
  map: StringMap,
  find: (key: string, value: string) => F | undefined,
): { key: string; fault: F } | undefined {
  let first: { key: string; fault: F } | undefined;
  for (const key in map) {
    if (first && key > first.key) continue;
    const fault = find(key, map[key] as string);
    if (fault !== undefined) first = { key, fault };
  }
  return first;
}
