/**
 * Converts claims between v1alpha1, where they name a template or a pool, and v1beta1, where they name a pool. Source:
 * Agent Sandbox API, section 1.7.
 * @module
 */
import { sameJson } from "./objects/apply.ts";
import { isObject } from "./objects/json.ts";
import { annotated, type Content, type Fields, isVolumes, nameOf, parsed, PREFIX, without } from "./v1alpha1content.ts";

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
export function claimToBeta(content: Content): Content {
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
export function claimToAlpha(content: Content, saved: Fields | undefined): Content {
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
