/**
 * What an object of v1alpha1 is in v1beta1, and back. What one version cannot say is kept in an annotation where the way
 * back would lose it. Pure. Source: Agent Sandbox API, section 1.7.
 * @module
 */
import type { KubeObject } from "./objects/objects.ts";
import { sameJson } from "./objects/apply.ts";

type Version = "v1alpha1" | "v1beta1";

type Fields = Record<string, unknown>;

const PREFIX = "api.agents.x-k8s.io/";
const VOLUME_POLICY = `${PREFIX}v1beta1-volume-claim-templates-policy`;
/** Ours, for what the contract would lose on the way: a Sandbox that says nothing of a Service, and a claim's own volumes. */
const SERVICE = `${PREFIX}v1beta1-service`;
const UNSET = "unset";
const VOLUME_TEMPLATES = `${PREFIX}v1beta1-volume-claim-templates`;
const VOLUME_POLICIES = ["Disallowed", "Allowed", "Overrides"];
/** A pool without members, for claims that v1alpha1 lets name a template in place of a pool. */
export const SHADOW_POOL = "shadow-pool-";

/** The kinds of both versions, and how each is converted. */
const KINDS: Record<string, Conversion> = {
  Sandbox: { toBeta: sandboxToBeta, toAlpha: sandboxToAlpha },
  SandboxClaim: { toBeta: claimToBeta, toAlpha: claimToAlpha },
  SandboxTemplate: { toBeta: templateToBeta, toAlpha: templateToAlpha },
  SandboxWarmPool: { toBeta: poolToBeta, toAlpha: poolToAlpha },
};

/** What a kind's functions see and give: an object without its version. */
interface Content {
  metadata: KubeObject["metadata"];
  spec: Fields;
  status: Fields | undefined;
}

interface Conversion {
  toBeta(content: Content): Content;
  /** @param saved the spec that the way to v1beta1 has left in an annotation; undefined: there is none */
  toAlpha(content: Content, saved: Fields | undefined): Content;
}

/**
 * Converts an object to `version`; one that has it is returned as it is.
 *
 * @throws {RangeError} for a kind or version that is unknown, and for an annotation that holds what it cannot
 */
export function convertObject(object: KubeObject, version: string): KubeObject {
  const [group = "", from = ""] = object.apiVersion.split("/");
  const conversion = Object.hasOwn(KINDS, object.kind) ? KINDS[object.kind] : undefined;
  if (!conversion || !isVersion(from) || !isVersion(version)) {
    throw new RangeError(`Cannot convert ${object.kind} of ${object.apiVersion} to ${version}: it is not known`);
  }
  if (from === version) return object;
  const key = stateAnnotation(object.kind);
  const content = contentOf(object);
  const converted = version === "v1beta1"
    ? remembering(conversion, content, key)
    : conversion.toAlpha(without(content, key), savedOf(content, key));
  const { metadata, spec, status } = converted;
  return { ...object, apiVersion: `${group}/${version}`, metadata, spec, ...(status ? { status } : {}) };
}

/** Returns the annotation that keeps what an object of v1alpha1 said, on the one of v1beta1. */
export function stateAnnotation(kind: string): string {
  return `${PREFIX}v1alpha1-${kind.toLowerCase()}-state`;
}

function isVersion(version: string): version is Version {
  return version === "v1alpha1" || version === "v1beta1";
}

function contentOf({ metadata, spec, status }: KubeObject): Content {
  return { metadata, spec: (spec ?? {}) as Fields, status: status as Fields | undefined };
}

/** Adds the annotation where the way back without it would not lead to the same spec. */
function remembering({ toBeta, toAlpha }: Conversion, before: Content, key: string): Content {
  const alpha = without(before, key);
  const beta = toBeta(alpha);
  if (sameJson(toAlpha(beta, undefined).spec, alpha.spec)) return beta;
  const { podTemplate: _, volumeClaimTemplates: __, ...spec } = alpha.spec;
  return annotated(beta, { [key]: JSON.stringify({ spec }) });
}

function savedOf({ metadata }: Content, key: string): Fields | undefined {
  const text = metadata.annotations?.[key];
  if (text === undefined) return undefined;
  const saved = parsed(text);
  if (typeof saved === "object" && saved !== null) return ((saved as Fields)["spec"] ?? {}) as Fields;
  throw new RangeError(`Cannot convert ${metadata.name}: annotation ${key} is not the JSON of an object`);
}

/** Returns undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function annotated(content: Content, annotations: Record<string, string>): Content {
  return {
    ...content,
    metadata: { ...content.metadata, annotations: { ...content.metadata.annotations, ...annotations } },
  };
}

function without(content: Content, ...keys: string[]): Content {
  const { annotations } = content.metadata;
  if (!annotations || !keys.some((key) => Object.hasOwn(annotations, key))) return content;
  const left = Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key)));
  const { annotations: _, ...metadata } = content.metadata;
  return { ...content, metadata: Object.keys(left).length > 0 ? { ...metadata, annotations: left } : metadata };
}

/** `replicas: 0` is `Suspended`. A Sandbox that says nothing of a Service gets one: v1alpha1 promises a stable hostname. */
function sandboxToBeta(content: Content): Content {
  const { replicas, ...spec } = content.spec;
  const isUnset = content.metadata.annotations?.[SERVICE] === UNSET;
  return {
    ...without(content, SERVICE),
    spec: { ...(isUnset ? {} : { service: true }), ...spec, operatingMode: replicas === 0 ? "Suspended" : "Running" },
    status: dropped(content.status, "replicas"),
  };
}

function sandboxToAlpha(content: Content, saved: Fields | undefined): Content {
  const { operatingMode, service, ...rest } = content.spec;
  const isRunning = operatingMode !== "Suspended";
  const replicas = isRunning ? saved?.["replicas"] === undefined && saved ? {} : { replicas: 1 } : { replicas: 0 };
  const isOurs = saved !== undefined && saved["service"] === undefined && service === true;
  const marked = service === undefined ? annotated(content, { [SERVICE]: UNSET }) : content;
  const status = dropped(content.status, "nodeName");
  const podIPs = (status?.["podIPs"] ?? []) as unknown[];
  return {
    ...marked,
    spec: { ...rest, ...(service === undefined || isOurs ? {} : { service }), ...replicas },
    status: status && { ...status, replicas: podIPs.length > 0 ? 1 : 0 },
  };
}

/**
 * The pool that a claim names: the one of its `warmpool`; else the one of its Sandbox, which has that pool's name; else
 * one without members, of its template.
 */
function claimToBeta(content: Content): Content {
  const { sandboxTemplateRef, warmpool = "default", ...spec } = content.spec;
  const template = nameOf(sandboxTemplateRef);
  const bound = boundName(content);
  const name = isPool(warmpool)
    ? warmpool
    : bound !== undefined && bound !== content.metadata.name
    ? withoutSuffix(bound)
    : SHADOW_POOL + template;
  const kept = content.metadata.annotations?.[VOLUME_TEMPLATES];
  const volumeClaimTemplates = kept === undefined ? undefined : parsed(kept);
  if (kept !== undefined && !Array.isArray(volumeClaimTemplates)) {
    throw new RangeError(
      `Cannot convert ${content.metadata.name}: annotation ${VOLUME_TEMPLATES} is not the JSON of a list`,
    );
  }
  return {
    ...without(content, VOLUME_TEMPLATES),
    spec: { ...spec, warmPoolRef: { name }, ...(volumeClaimTemplates ? { volumeClaimTemplates } : {}) },
  };
}

function claimToAlpha(content: Content, saved: Fields | undefined): Content {
  const { warmPoolRef, volumeClaimTemplates, ...rest } = content.spec;
  const ref = nameOf(warmPoolRef);
  const spec = { ...rest, ...referencesOf(ref, content, saved) };
  if (volumeClaimTemplates === undefined) return { ...content, spec };
  return { ...annotated(content, { [VOLUME_TEMPLATES]: JSON.stringify(volumeClaimTemplates) }), spec };
}

/** What v1alpha1 says in place of a pool's name: as it was said, unless the claim names another pool since. */
function referencesOf(ref: string, content: Content, saved: Fields | undefined): Fields {
  if (!saved) {
    return ref.startsWith(SHADOW_POOL)
      ? { sandboxTemplateRef: { name: ref.slice(SHADOW_POOL.length) }, warmpool: "default" }
      : { sandboxTemplateRef: { name: ref }, warmpool: ref };
  }
  const { sandboxTemplateRef, warmpool } = saved;
  const expected = isPool(warmpool) ? warmpool : nameOf(sandboxTemplateRef);
  const bound = boundName(content);
  const same = [expected, SHADOW_POOL + expected, ...(bound === undefined ? [] : [bound, withoutSuffix(bound)])];
  if (same.includes(ref)) return { sandboxTemplateRef, ...(warmpool === undefined ? {} : { warmpool }) };
  return { sandboxTemplateRef, warmpool: ref };
}

function isPool(warmpool: unknown): warmpool is string {
  return typeof warmpool === "string" && warmpool !== "" && warmpool !== "default" && warmpool !== "none";
}

function boundName({ status }: Content): string | undefined {
  return nameOf(status?.["sandbox"]) || undefined;
}

function withoutSuffix(name: string): string {
  return name.includes("-") ? name.slice(0, name.lastIndexOf("-")) : name;
}

function templateToBeta(content: Content): Content {
  const policy = content.metadata.annotations?.[VOLUME_POLICY];
  if (policy === undefined) return content;
  if (!VOLUME_POLICIES.includes(policy)) {
    throw new RangeError(`Cannot convert ${content.metadata.name}: annotation ${VOLUME_POLICY} is "${policy}"`);
  }
  return { ...without(content, VOLUME_POLICY), spec: { ...content.spec, volumeClaimTemplatesPolicy: policy } };
}

function templateToAlpha(content: Content): Content {
  const { volumeClaimTemplatesPolicy: policy, ...spec } = content.spec;
  const { metadata } = without(content, VOLUME_POLICY);
  if (typeof policy !== "string" || policy === "") return { ...content, metadata, spec };
  return { ...annotated({ ...content, metadata }, { [VOLUME_POLICY]: policy }), spec };
}

function poolToBeta(content: Content): Content {
  return content;
}

function poolToAlpha(content: Content): Content {
  return {
    ...content,
    spec: { replicas: 1, ...content.spec },
    status: dropped(content.status, "observedGeneration"),
  };
}

function nameOf(reference: unknown): string {
  const name = (reference as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? name : "";
}

function dropped(fields: Fields | undefined, name: string): Fields | undefined {
  if (!fields) return undefined;
  const { [name]: _, ...rest } = fields;
  return rest;
}
