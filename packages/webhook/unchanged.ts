/** How to answer with a child that exists and leave it alone: Metacontroller deletes what an answer omits. Pure. @module */
import { lastApplied } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";

/**
 * Returns `{spec}` for an observed child so that Metacontroller's merge gives the observed spec again, or `{}` where
 * last-applied says nothing of the spec and so silence leaves it alone.
 *
 * Almost always this is the spec as last applied. Where the API server has changed what was applied (tolerations added
 * by admission, `1000m` stored as `1`, defaults inside lists without keys), the observed value takes its place. Ports
 * that share a number cannot be put in words that survive the merge: the keeper takes such a spec out of last-applied.
 *
 * @param last the child as it was last applied, where that has been read already
 */
export function unchangedSpec(child: KubeObject, last: Json | undefined = lastApplied(child)): { spec?: unknown } {
  const applied = last?.["spec"];
  return applied === undefined ? {} : { spec: settled(child["spec"], applied) };
}

/** Returns the child as it was last applied; one that Metacontroller only adopted is named, and no more. */
export function unchanged(child: KubeObject): DesiredObject {
  const applied = lastApplied(child);
  const { apiVersion, kind } = child;
  const said = isObject(applied?.["metadata"]) ? applied["metadata"] : {};
  const metadata = { ...said, ...identityOf(child, said) };
  return { ...applied, apiVersion, kind, metadata, ...unchangedSpec(child, applied) };
}

/**
 * Returns name and namespace of a child for an answer as it was last applied: whoever may write the child may write that
 * annotation, and would have Metacontroller make objects in namespaces of others.
 *
 * @param applied its metadata as it was last applied
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
  // A key that the server dropped is dropped here too, else the merge would put it back.
  const kept = Object.keys(applied).filter((key) => key in observed);
  return Object.fromEntries(kept.map((key) => [key, settledField(observed[key], applied[key])]));
}

function settledField(observed: unknown, applied: unknown): unknown {
  if (isUnchangedByMerge({ f: observed }, { f: applied }, { f: applied })) return applied;
  return settled(observed, applied);
}
