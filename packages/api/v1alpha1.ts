/**
 * What an object of v1alpha1 is in v1beta1, and back. What one version cannot say is kept in an annotation where the way
 * back would lose it. Pure. Source: Agent Sandbox API, section 1.7.
 *
 * One thing is otherwise than there: an annotation that holds what it cannot is no error. It says nothing, and stays. The
 * API server asks for all objects of a list at once and gives up the list for one of them, so that whoever may annotate one
 * object would keep everybody from listing and watching those of all namespaces.
 * @module
 */
import type { KubeObject } from "./objects/objects.ts";
import { sameJson } from "./objects/apply.ts";
import { isObject } from "./objects/json.ts";
import { claimToAlpha, claimToBeta } from "./v1alpha1claim.ts";
import { annotated, type Content, type Fields, parsed, PREFIX, without } from "./v1alpha1content.ts";

type Version = "v1alpha1" | "v1beta1";

const VOLUME_POLICY = `${PREFIX}v1beta1-volume-claim-templates-policy`;
/** Annotation of ours: the Sandbox does not set `service`. The contract's conversion would lose that. */
const SERVICE = `${PREFIX}v1beta1-service`;
const UNSET = "unset";
const VOLUME_POLICIES = ["Disallowed", "Allowed", "Overrides"];

/** The kinds of both versions, and how each is converted. */
const KINDS: Record<string, Conversion> = {
  Sandbox: { toBeta: sandboxToBeta, toAlpha: sandboxToAlpha },
  SandboxClaim: { toBeta: claimToBeta, toAlpha: claimToAlpha },
  SandboxTemplate: { toBeta: templateToBeta, toAlpha: templateToAlpha },
  SandboxWarmPool: { toBeta: poolToBeta, toAlpha: poolToAlpha },
};

interface Conversion {
  toBeta(content: Content): Content;
  /** @param saved the spec that the way to v1beta1 has left in an annotation; undefined: there is none */
  toAlpha(content: Content, saved: Fields | undefined): Content;
}

/**
 * Converts an object to `version`; one that has it is returned as it is.
 *
 * @throws {RangeError} for a kind or version that is unknown: never for what an object says
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
  if (sameJson(toAlpha(beta, undefined).spec, alpha.spec)) return savedOf(before, key) ? beta : toBeta(before);
  const { podTemplate: _, volumeClaimTemplates: __, ...spec } = alpha.spec;
  return annotated(beta, { [key]: JSON.stringify({ spec }) });
}

/** An annotation that says nothing stays where it is. */
function toAlphaFrom({ toAlpha }: Conversion, content: Content, key: string): Content {
  const saved = savedOf(content, key);
  return saved ? toAlpha(without(content, key), saved) : toAlpha(content, undefined);
}

/** Reads the spec that an annotation keeps; undefined: there is none, or it is not the JSON of one. */
function savedOf({ metadata }: Content, key: string): Fields | undefined {
  const saved = parsed(metadata.annotations?.[key]);
  const { spec = {} } = isObject(saved) ? saved : { spec: undefined };
  return isObject(saved) && isObject(spec) ? spec : undefined;
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
