/** What an answer makes of children that stay: whether it changes what no hook may, and whether it gives them an end. Pure. @module */
import { lastApplied, mergeApply, sameJson } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../api/objects/keys.ts";
import { nameHash } from "../api/objects/names.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";
import { unchangedSpec } from "./unchanged.ts";

/** A child that is observed, and as it is answered. */
export interface Kept {
  child: KubeObject;
  after: DesiredObject;
}

/** What no answer may do to a child that stays, as it goes on after "3 of 5 children". */
interface Prohibition {
  words: string;
  isBroken(kept: Kept, parent: KubeObject): boolean;
}

export const PROHIBITIONS: readonly Prohibition[] = [
  { words: "would lose what they are selected by", isBroken: losesSelection },
  { words: "are live Pods whose spec would be changed", isBroken: changesPod },
  { words: "are Services whose spec.selector would no longer select what is the parent's", isBroken: misdirects },
];

/** Tells whether it gives a child an end: suspends it, lets it expire or expire sooner, or has it deleted when it expires. */
export function endOf({ child, after }: Kept): "suspended" | "expiring" | undefined {
  const [is, will] = [specOf(child), specOf(after)];
  if (will["operatingMode"] === "Suspended" && is["operatingMode"] !== "Suspended") return "suspended";
  if (will["shutdownPolicy"] === "Delete" && is["shutdownPolicy"] !== "Delete") return "expiring";
  const [from, to] = [is["shutdownTime"], will["shutdownTime"]].map((time) => Date.parse(String(time ?? "")));
  return !Number.isNaN(to) && !(from! <= to!) ? "expiring" : undefined;
}

/** A label that somebody else has changed may be repaired. */
function losesSelection({ child, after }: Kept): boolean {
  const value = child.metadata.labels?.[NAME_HASH_LABEL];
  if (value === undefined || after.metadata.labels?.[NAME_HASH_LABEL] === value) return false;
  const applied = lastApplied(child)?.["metadata"];
  return isObject(applied) && isObject(applied["labels"]) && applied["labels"][NAME_HASH_LABEL] === value;
}

/**
 * Judges by the merge. Where even the words that are to leave a spec alone do not survive it (ports that share a number),
 * they are no hook's fault: the API server refuses what comes of them, and the keeper helps.
 */
function changesPod({ child, after }: Kept): boolean {
  if (child.kind !== "Pod") return false;
  const { spec } = after;
  const observed = fieldOf("spec", child["spec"]);
  const applied = fieldOf("spec", lastApplied(child)?.["spec"]);
  if (isUnchangedByMerge(observed, applied, fieldOf("spec", spec))) return false;
  return !sameJson(spec, unchangedSpec(child).spec);
}

/** A selector may come nearer to what all of the parent's Pods have, and to nothing else. */
function misdirects({ child, after }: Kept, { metadata }: KubeObject): boolean {
  if (child.kind !== "Service") return false;
  const is = specOf(child)["selector"];
  const wanted = specOf(after)["selector"];
  if (wanted !== undefined && sameJson(is, wanted)) return false;
  const applied = lastApplied(child);
  const will = mergeApply(fieldOf("selector", is), fieldOf("selector", specOf(applied ?? {})["selector"]), {
    ...fieldOf("selector", wanted),
  })["selector"];
  const ours: Json = { [NAME_HASH_LABEL]: nameHash(metadata.name), [CONTROLLER_UID_LABEL]: metadata.uid };
  const [before, then] = [is, will].map((selector) => isObject(selector) ? selector : {});
  const changed = Object.keys({ ...before, ...then }).filter((key) => before![key] !== then![key]);
  return changed.some((key) => Object.hasOwn(then!, key) ? then![key] !== ours[key] : before![key] === ours[key]);
}

function fieldOf(name: string, value: unknown): Json {
  return value === undefined ? {} : { [name]: value };
}

function specOf(object: object): Json {
  const { spec } = object as { spec?: unknown };
  return isObject(spec) ? spec : {};
}
