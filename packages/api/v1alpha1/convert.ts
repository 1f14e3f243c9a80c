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
import { sameJson } from "../objects/apply.ts";
import { isObject, parseJson } from "../objects/json.ts";
import type { KubeObject } from "../objects/objects.ts";

type Version = "v1alpha1" | "v1beta1";

/** Prefix of the conversions' annotations. */
const PREFIX = "api.agents.x-k8s.io/";

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

/** An annotation of hookbox's own: a claim's own volumes, for which v1alpha1 has no field. */
const VOLUME_TEMPLATES = `${PREFIX}v1beta1-volume-claim-templates`;
/**
 * An annotation of hookbox's own: a pool's name that has another meaning in v1alpha1, such as "default", and the
 * v1alpha1 fields in its place.
 */
const POOL = `${PREFIX}v1beta1-warm-pool-ref`;
/** Longest name of an object that API servers accept, in characters. */
const LONGEST_NAME = 253;
/** Prefix of the name of a pool without members, for a claim that names a template instead of a pool in v1alpha1. */
export const SHADOW_POOL = "shadow-pool-";

/**
 * Converts a claim to v1beta1. Its pool is the pool in `warmpool`. If that is not set, it is the pool of the claim's
 * Sandbox, whose name begins with the pool's. If there is no Sandbox of a pool, it is a pool without members, named
 * after the template.
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

/** Converts a claim to v1alpha1. If the claim still names the same pool, the result has the same fields as before. */
function claimToAlpha(content: Content, saved: Fields | undefined): Content {
  const { warmPoolRef, volumeClaimTemplates, ...rest } = content.spec;
  const ref = nameOf(warmPoolRef);
  const said = referencesOf(ref, content, saved);
  const unnoted = { ...poolNote(content) ? without(content, POOL) : content, spec: { ...rest, ...said } };
  const alpha = poolOf(unnoted) === ref ? unnoted : annotated(unnoted, { [POOL]: JSON.stringify(noteOf(ref, said)) });
  if (volumeClaimTemplates === undefined) {
    // Otherwise a user could add volumes to a v1beta1 claim with this annotation: the conversion to v1beta1 would read
    // them from it.
    return isVolumes(parsed(alpha.metadata.annotations?.[VOLUME_TEMPLATES])) ? without(alpha, VOLUME_TEMPLATES) : alpha;
  }
  return annotated(alpha, { [VOLUME_TEMPLATES]: JSON.stringify(volumeClaimTemplates) });
}

/** A pool's name, and the template and pool that the claim has in v1alpha1 in its place. */
interface PoolNote {
  name: string;
  template: string;
  warmpool: unknown;
}

function noteOf(name: string, { sandboxTemplateRef, warmpool }: Fields): PoolNote {
  return { name, template: nameOf(sandboxTemplateRef), warmpool };
}

/** Reads the annotation; undefined: it is absent, or hookbox has not written it. */
function poolNote({ metadata }: Content): PoolNote | undefined {
  const note = parsed(metadata.annotations?.[POOL]);
  if (!isObject(note) || typeof note["template"] !== "string") return undefined;
  const { name, template, warmpool } = note;
  return typeof name === "string" && name.length <= LONGEST_NAME ? { name, template, warmpool } : undefined;
}

/** Tells whether a claim of v1alpha1 still has the template and pool of the note. If not, a user has changed them. */
function isSaid(note: PoolNote, spec: Fields): boolean {
  return sameJson(note, noteOf(note.name, spec));
}

/**
 * The v1alpha1 fields in place of a pool's name. They are the saved fields, unless the claim has been changed to
 * another pool.
 */
function referencesOf(ref: string, content: Content, saved: Fields | undefined): Fields {
  const template = nameOf(saved?.["sandboxTemplateRef"]);
  const warmpool = saved?.["warmpool"];
  if (!template || (warmpool !== undefined && typeof warmpool !== "string")) {
    return ref.startsWith(SHADOW_POOL)
      ? { sandboxTemplateRef: { name: ref.slice(SHADOW_POOL.length) }, warmpool: "default" }
      : { sandboxTemplateRef: { name: ref }, warmpool: ref };
  }
  // Only the name: users can write deeper objects into the annotation than the converted claim may have.
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

type Fields = Record<string, unknown>;

/** An object without its version: the input and output of each kind's functions. */
interface Content {
  metadata: KubeObject["metadata"];
  spec: Fields;
  status: Fields | undefined;
}

/** Parses JSON; undefined: the text is absent or not JSON. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Adds annotations. */
function annotated(content: Content, annotations: Record<string, string>): Content {
  return {
    ...content,
    metadata: { ...content.metadata, annotations: { ...content.metadata.annotations, ...annotations } },
  };
}

/** Removes annotations. If none is left, removes the `annotations` field. */
function without(content: Content, ...keys: string[]): Content {
  const { annotations } = content.metadata;
  if (!annotations || !keys.some((key) => Object.hasOwn(annotations, key))) return content;
  const left = Object.fromEntries(Object.entries(annotations).filter(([key]) => !keys.includes(key)));
  const { annotations: _, ...metadata } = content.metadata;
  return { ...content, metadata: Object.keys(left).length > 0 ? { ...metadata, annotations: left } : metadata };
}

/**
 * How many levels a claim's volumes may have. A PersistentVolumeClaim has fewer than half as many, but an annotation
 * may contain any number.
 */
const DEEPEST = 16;

/**
 * Tells whether a value can be a claim's volumes. This is needed because nobody else checks the result of a conversion,
 * not even the API server.
 */
function isVolumes(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.every(isObject) && isShallow(value, DEEPEST);
}

function isShallow(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((field) => isShallow(field, left - 1));
}

/** Returns the name in a reference; empty: the reference has none. */
function nameOf(reference: unknown): string {
  const name = (reference as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? name : "";
}
