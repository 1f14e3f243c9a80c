/**
 * Converts objects between v1alpha1 and v1beta1. If the other version has no field for something and the conversion
 * back would lose it, it is stored in an annotation. Source: Agent Sandbox API, section 1.7.
 *
 * There is one difference from Agent Sandbox: an annotation with invalid content is no error. It is ignored, and stays.
 * The API server converts all objects of a list together, and fails the whole list if one object fails. Otherwise,
 * everybody who may annotate one object could prevent everybody from listing and watching the objects of all
 * namespaces.
 * @module
 */
import type { KubeObject } from "./objects/objects.ts";
import { sameJson } from "./objects/apply.ts";
import { isObject } from "./objects/json.ts";
import { claimToAlpha, claimToBeta } from "./v1alpha1claim.ts";
import { annotated, type Content, type Fields, parsed, PREFIX, without } from "./v1alpha1content.ts";

type Version = "v1alpha1" | "v1beta1";

const VOLUME_POLICY = `${PREFIX}v1beta1-volume-claim-templates-policy`;
/**
 * An annotation of hookbox's own: the Sandbox does not set `service`. The conversion of Agent Sandbox would lose this.
 */
const SERVICE = `${PREFIX}v1beta1-service`;
const UNSET = "unset";
const VOLUME_POLICIES = ["Disallowed", "Allowed", "Overrides"];

/** The kinds that have both versions, and their conversions. */
const KINDS: Record<string, Conversion> = {
  Sandbox: { toBeta: sandboxToBeta, toAlpha: sandboxToAlpha },
  SandboxClaim: { toBeta: claimToBeta, toAlpha: claimToAlpha },
  SandboxTemplate: { toBeta: templateToBeta, toAlpha: templateToAlpha },
  SandboxWarmPool: { toBeta: poolToBeta, toAlpha: poolToAlpha },
};

interface Conversion {
  toBeta(content: Content): Content;
  /** @param saved the spec that the conversion to v1beta1 has stored in an annotation; undefined: there is none */
  toAlpha(content: Content, saved: Fields | undefined): Content;
}

/**
 * Converts an object to `version`. An object that already has this version is returned unchanged.
 *
 * @throws {RangeError} if kind or version are unknown; never because of an object's content
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
    : toAlphaFrom(conversion, content, key);
  const { metadata, spec, status } = converted;
  return { ...object, apiVersion: `${group}/${version}`, metadata, spec, ...(status ? { status } : {}) };
}

/** Returns the annotation on a v1beta1 object that stores its fields of v1alpha1. */
export function stateAnnotation(kind: string): string {
  return `${PREFIX}v1alpha1-${kind.toLowerCase()}-state`;
}

function isVersion(version: string): version is Version {
  return version === "v1alpha1" || version === "v1beta1";
}

function contentOf({ metadata, spec, status }: KubeObject): Content {
  return { metadata, spec: (spec ?? {}) as Fields, status: status as Fields | undefined };
}

/** Converts to v1beta1. If the conversion back would not give the same spec, adds the annotation. */
function remembering({ toBeta, toAlpha }: Conversion, before: Content, key: string): Content {
  const alpha = without(before, key);
  const beta = toBeta(alpha);
  if (sameJson(toAlpha(beta, undefined).spec, alpha.spec)) return savedOf(before, key) ? beta : toBeta(before);
  const { podTemplate: _, volumeClaimTemplates: __, ...spec } = alpha.spec;
  return annotated(beta, { [key]: JSON.stringify({ spec }) });
}

/** Converts to v1alpha1. An annotation with invalid content stays. */
function toAlphaFrom({ toAlpha }: Conversion, content: Content, key: string): Content {
  const saved = savedOf(content, key);
  return saved ? toAlpha(without(content, key), saved) : toAlpha(content, undefined);
}

/** Reads the spec from an annotation; undefined: there is none, or it is not valid. */
function savedOf({ metadata }: Content, key: string): Fields | undefined {
  const saved = parsed(metadata.annotations?.[key]);
  const { spec = {} } = isObject(saved) ? saved : { spec: undefined };
  return isObject(saved) && isObject(spec) ? spec : undefined;
}

/**
 * `replicas: 0` becomes `Suspended`. A Sandbox that does not set `service` gets a Service, because v1alpha1 promises a
 * stable hostname.
 */
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
  const isMarked = content.metadata.annotations?.[SERVICE] === UNSET;
  const unmarked = isMarked ? without(content, SERVICE) : content;
  const marked = service === undefined ? annotated(content, { [SERVICE]: UNSET }) : unmarked;
  const status = dropped(content.status, "nodeName");
  const podIPs = (status?.["podIPs"] ?? []) as unknown[];
  return {
    ...marked,
    spec: { ...rest, ...(service === undefined || isOurs ? {} : { service }), ...replicas },
    status: status && { ...status, replicas: podIPs.length > 0 ? 1 : 0 },
  };
}

function templateToBeta(content: Content): Content {
  const policy = content.metadata.annotations?.[VOLUME_POLICY];
  if (!isPolicy(policy)) return content;
  return { ...without(content, VOLUME_POLICY), spec: { ...content.spec, volumeClaimTemplatesPolicy: policy } };
}

function templateToAlpha(content: Content): Content {
  const { volumeClaimTemplatesPolicy: policy, ...spec } = content.spec;
  if (typeof policy === "string" && policy !== "") {
    return { ...annotated(content, { [VOLUME_POLICY]: policy }), spec };
  }
  const { metadata } = isPolicy(content.metadata.annotations?.[VOLUME_POLICY])
    ? without(content, VOLUME_POLICY)
    : content;
  return { ...content, metadata, spec };
}

function isPolicy(policy: string | undefined): policy is string {
  return policy !== undefined && VOLUME_POLICIES.includes(policy);
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

function dropped(fields: Fields | undefined, name: string): Fields | undefined {
  if (!fields) return undefined;
  const { [name]: _, ...rest } = fields;
  return rest;
}
