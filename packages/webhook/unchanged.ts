/**
 * Builds the parts of an answer that leave an existing child as it is, or the fields that another writer has added to
 * it. Metacontroller deletes what an answer omits.
 * @module
 */
import { isUnchangedByMerge, lastApplied } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";

/**
 * Returns `{spec}` for an observed child such that Metacontroller's merge results in the observed spec. Returns `{}` if
 * the last-applied annotation has no spec, because the merge then leaves the spec alone.
 *
 * Almost always, this is the spec as last applied. If the API server has changed what was applied, the observed value
 * takes its place: tolerations added by admission, `1000m` stored as `1`, defaults inside lists without keys. Ports
 * that share a number have no form that the merge keeps: the keeper removes such a spec from the last-applied
 * annotation.
 *
 * @param last the child as last applied, if it was read already
 */
export function unchangedSpec(child: KubeObject, last: Json | undefined = lastApplied(child)): { spec?: unknown } {
  const applied = last?.["spec"];
  return applied === undefined ? {} : { spec: settled(child["spec"], applied) };
}

/** Returns the child as last applied. For a child that Metacontroller only adopted, this is only its identity. */
export function unchanged(child: KubeObject): DesiredObject {
  const applied = lastApplied(child);
  const { apiVersion, kind } = child;
  const said = isObject(applied?.["metadata"]) ? applied["metadata"] : {};
  const metadata = { ...said, ...identityOf(child, said) };
  return { ...applied, apiVersion, kind, metadata, ...unchangedSpec(child, applied) };
}

/**
 * Returns name and namespace of a child for an answer, with a namespace only if one was applied. The values are the
 * observed ones: users who can write the child can write the annotation, and could make Metacontroller create objects
 * in other namespaces.
 *
 * @param applied its metadata as last applied
 */
export function identityOf(
  { metadata }: KubeObject,
  applied: { namespace?: unknown },
): { name: string; namespace?: string } {
  const { name, namespace } = metadata;
  const isNamed = applied.namespace !== undefined && namespace !== undefined;
  return isNamed ? { name, namespace } : { name };
}

function settled(observed: unknown, applied: unknown): unknown {
  if (!isObject(observed) || !isObject(applied)) return observed;
  if (isUnchangedByMerge(observed, applied, applied)) return applied;
  // Drop each key that the server dropped, or the merge would add it again.
  const kept = Object.keys(applied).filter((key) => key in observed);
  return Object.fromEntries(kept.map((key) => [key, settledField(observed[key], applied[key])]));
}

function settledField(observed: unknown, applied: unknown): unknown {
  if (isUnchangedByMerge({ f: observed }, { f: applied }, { f: applied })) return applied;
  return settled(observed, applied);
}

/**
 * Returns `wanted` with those observed fields, as observed, that are neither wanted nor were ever applied.
 *
 * Metacontroller removes only what it has applied itself. If one answer contains a foreign field unchanged, the field
 * becomes Metacontroller's. The next answer leaves the field out although it was applied, and Metacontroller removes
 * it. Objects are compared recursively as far as all sides have them; the merge replaces lists as a whole.
 *
 * @param isOurs which fields of the outermost object to include; all by default
 */
export function withForeignFields<T extends object>(
  wanted: T,
  observed: unknown,
  applied: unknown,
  isOurs: (field: string) => boolean = () => true,
): T {
  if (!isObject(observed)) return wanted;
  const before = isObject(applied) ? applied : {};
  const fields = wanted as Json;
  const kept = Object.entries(observed).flatMap(([field, value]) => {
    if (!isOurs(field)) return [];
    if (!(field in fields)) return field in before ? [] : [[field, value] as const];
    const inner = fields[field];
    return isObject(inner) ? [[field, withForeignFields(inner, value, before[field])] as const] : [];
  });
  return kept.length === 0 ? wanted : { ...wanted, ...Object.fromEntries(kept) };
}
