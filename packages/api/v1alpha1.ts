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
import { annotated, type Content, type Fields, isVolumes, parsed, without } from "./v1alpha1content.ts";

type Version = "v1alpha1" | "v1beta1";

const PREFIX = "api.agents.x-k8s.io/";
const VOLUME_POLICY = `${PREFIX}v1beta1-volume-claim-templates-policy`;
/** Ours, for what the contract would lose on the way: a Sandbox that says nothing of a Service, and a claim's own volumes. */
const SERVICE = `${PREFIX}v1beta1-service`;
const UNSET = "unset";
const VOLUME_TEMPLATES = `${PREFIX}v1beta1-volume-claim-templates`;
/** Ours, too: a pool whose name v1alpha1 would read as another, such as "default", and what it says in its place. */
const POOL = `${PREFIX}v1beta1-warm-pool-ref`;
/** Of an object, as API servers take it. */
const LONGEST_NAME = 253;
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
  const { sandboxTemplateRef: _, warmpool: __, ...spec } = content.spec;
  const note = poolNote(content);
  const named = { ...spec, warmPoolRef: { name: note && isSaid(note, content.spec) ? note.name : poolOf(content) } };
  const volumeClaimTemplates = parsed(content.metadata.annotations?.[VOLUME_TEMPLATES]);
  const rest = note ? without(content, POOL) : content;
  return isVolumes(volumeClaimTemplates)
    ? { ...without(rest, VOLUME_TEMPLATES), spec: { ...named, volumeClaimTemplates } }
    : { ...rest, spec: named };
}

function poolOf(content: Content): string {
  const { sandboxTemplateRef, warmpool = "default" } = content.spec;
  const bound = boundName(content);
  if (isPool(warmpool)) return warmpool;
  return bound !== undefined && bound !== content.metadata.name
    ? withoutSuffix(bound)
    : SHADOW_POOL + nameOf(sandboxTemplateRef);
}

function claimToAlpha(content: Content, saved: Fields | undefined): Content {
  const { warmPoolRef, volumeClaimTemplates, ...rest } = content.spec;
  const ref = nameOf(warmPoolRef);
  const said = referencesOf(ref, content, saved);
  const unnoted = { ...poolNote(content) ? without(content, POOL) : content, spec: { ...rest, ...said } };
  const alpha = poolOf(unnoted) === ref ? unnoted : annotated(unnoted, { [POOL]: JSON.stringify(noteOf(ref, said)) });
  if (volumeClaimTemplates === undefined) return alpha;
  return annotated(alpha, { [VOLUME_TEMPLATES]: JSON.stringify(volumeClaimTemplates) });
}

/** A pool's name, and the template and pool that v1alpha1 says in its place. */
interface PoolNote {
  name: string;
  template: string;
  warmpool: unknown;
}

function noteOf(name: string, { sandboxTemplateRef, warmpool }: Fields): PoolNote {
  return { name, template: nameOf(sandboxTemplateRef), warmpool };
}

/** Reads the annotation; undefined: it is not there, or no note of ours. */
function poolNote({ metadata }: Content): PoolNote | undefined {
  const note = parsed(metadata.annotations?.[POOL]);
  if (!isObject(note) || typeof note["template"] !== "string") return undefined;
  const { name, template, warmpool } = note;
  return typeof name === "string" && name.length <= LONGEST_NAME ? { name, template, warmpool } : undefined;
}

/** A claim of v1alpha1 that names another template or pool since is of that one. */
function isSaid(note: PoolNote, spec: Fields): boolean {
  return sameJson(note, noteOf(note.name, spec));
}

/** What v1alpha1 says in place of a pool's name: as it was said, unless the claim names another pool since. */
function referencesOf(ref: string, content: Content, saved: Fields | undefined): Fields {
  const template = nameOf(saved?.["sandboxTemplateRef"]);
  const warmpool = saved?.["warmpool"];
  if (!template || (warmpool !== undefined && typeof warmpool !== "string")) {
    return ref.startsWith(SHADOW_POOL)
      ? { sandboxTemplateRef: { name: ref.slice(SHADOW_POOL.length) }, warmpool: "default" }
      : { sandboxTemplateRef: { name: ref }, warmpool: ref };
  }
  // Nothing else of it: what is written into an annotation is no deeper than what may be answered.
  const sandboxTemplateRef = { name: template };
  const expected = isPool(warmpool) ? warmpool : template;
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

function nameOf(reference: unknown): string {
  const name = (reference as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? name : "";
}

function dropped(fields: Fields | undefined, name: string): Fields | undefined {
  if (!fields) return undefined;
  const { [name]: _, ...rest } = fields;
  return rest;
}
