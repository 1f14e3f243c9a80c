/**
 * Generates random children to merge: an observed object, a last applied one and a desired one. The same seed gives the
 * same children. @module
 */
import fc, { type GeneratorValue } from "fast-check";
import { canonicalJson } from "../../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../../packages/api/objects/json.ts";

/** One child, without apiVersion, kind and name. */
export interface MergeCase {
  /** The object as it is created, without its last-applied annotation. */
  observed: Json;
  /** Text of the last-applied annotation; undefined: there is none. */
  last: string | undefined;
  desired: Json;
}

/**
 * Names of fields: keys by which lists are merged, and others, some of which are sorted or formatted in a special way.
 */
const KEYS = [
  "a",
  "b",
  "c",
  "name",
  "port",
  "containerPort",
  "mountPath",
  "uid",
  "ip",
  "path",
  "é",
  "😀",
  "\uff5e",
  "<&>",
  "1",
];
const LIST_KEYS = ["name", "port", "containerPort", "mountPath", "uid", "ip", "path"];
const TEXTS = ["", "x", "y", "z", "80", "<a & b>", "\u2028\u2029", 'line\nend\t"\\', "ü😀", "\u0000\u001f\u007f"];
const NUMBERS = [0, 1, -1, 80, 443, 1.5, -0.25, 1e21, 1e20, 1e-7, 1e-6, 123456789012, 0.1];
const LABELS = ["", "x", "y", "z"];
/** Texts that are not the JSON of an object, or have no content. */
const BROKEN = ["", "{", "null", "[]", '"text"', "{}", "{} {}"];
const SYSTEM: Json = {
  uid: "other",
  resourceVersion: "7",
  generation: 9,
  creationTimestamp: "2000-01-01T00:00:00Z",
  deletionTimestamp: "2000-01-01T00:00:00Z",
  deletionGracePeriodSeconds: 3,
  selfLink: "/other",
};

/** Generates cases. `place` returns the metadata that depends on where a case is created. */
export function mergeCases(count: number, seed: number, place: (index: number) => Json): MergeCase[] {
  return fc.sample(fc.gen(), { numRuns: count, seed }).map((random, index) => caseOf(choicesOf(random), place(index)));
}

type Choices = ReturnType<typeof choicesOf>;

function choicesOf(random: GeneratorValue) {
  const below = (count: number) => random(fc.nat, { max: count - 1 });
  return {
    below,
    /** Returns true with a probability of `times` in ten. */
    chance: (times: number) => below(10) < times,
    one: <T>(list: readonly T[]): T => list[below(list.length)] as T,
  };
}

function caseOf(choices: Choices, place: Json): MergeCase {
  const depth = choices.one([1, 1, 1, 2, 2, 3]);
  const base = objectOf(choices, depth);
  const labels = textsOf(choices, LABELS);
  const annotations = textsOf(choices, TEXTS);
  // Each item of all three lists gets both keys, to test which of them counts.
  const rivals = choices.chance(2) ? [choices.one(LIST_KEYS), choices.one(LIST_KEYS)] : [];
  const bodyOf = (tree: Json, one: Json, other: Json): Json => {
    const metadata = { ...(choices.chance(3) && { labels: one }), ...(choices.chance(3) && { annotations: other }) };
    const list = rivals.length > 0 &&
      { rivals: Array.from({ length: 1 + choices.below(2) }, () => rival(choices, rivals)) };
    const spec = { ...tree, ...list };
    return { metadata, ...(choices.chance(9) && { spec }), ...(choices.chance(2) && { data: tree["a"] ?? {} }) };
  };
  const varied = () =>
    bodyOf(
      changedFields(choices, base, depth),
      changedTexts(choices, labels, LABELS),
      changedTexts(choices, annotations, TEXTS),
    );
  const wanted = varied();
  // Sometimes nothing has changed since the object was applied, except for changes by others.
  const isSettled = choices.chance(2);
  const observed = isSettled ? grown(choices, wanted) as Json : varied();
  const last = isSettled || choices.chance(2) ? wanted : varied();
  return {
    observed,
    last: lastOf(choices, { ...place, ...merged(place, last) }),
    desired: embellished(choices, wanted),
  };
}

/** Adds fields at random. */
function grown(choices: Choices, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => grown(choices, item));
  if (!isObject(value)) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, key === "metadata" ? field : grown(choices, field)]);
  return {
    ...(choices.chance(3) && !("metadata" in value) && { added: choices.one(TEXTS) }),
    ...Object.fromEntries(fields),
  };
}

function merged(place: Json, body: Json): Json {
  return { ...body, metadata: { ...place["metadata"] as Json, ...body["metadata"] as Json } };
}

function lastOf(choices: Choices, object: Json): string | undefined {
  if (choices.below(40) === 0) return choices.one(BROKEN);
  return choices.below(10) === 0 ? undefined : canonicalJson(object);
}

/** Sometimes adds fields that a hook may not set. */
function embellished({ below, one }: Choices, desired: Json): Json {
  const metadata: Json = { ...desired["metadata"] as Json };
  const annotations = metadata["annotations"];
  if (below(15) === 0) {
    const [key, value] = one(Object.entries(SYSTEM));
    metadata[key] = value;
  }
  if (below(20) === 0) {
    metadata["annotations"] = { ...annotations as Json, "metacontroller.k8s.io/last-applied-configuration": "{}" };
  }
  if (below(25) === 0) metadata["annotations"] = { ...annotations as Json, odd: one([null, 1, true, {}]) };
  if (below(25) === 0) metadata["finalizers"] = [one(["example.com/a", "example.com/b"])];
  if (below(25) === 0) {
    metadata["ownerReferences"] = [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: one(["u-1", "u-2"]) }];
  }
  return { ...desired, metadata, ...(below(20) === 0 && { status: { said: one(TEXTS) } }) };
}

function textsOf({ below, one }: Choices, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: below(4) }, () => [one(["p", "q", "r.io/s"]), one(values)]));
}

function changedTexts(
  choices: Choices,
  texts: Record<string, string>,
  values: readonly string[],
): Record<string, string> {
  const kept = Object.entries(texts).filter(() => choices.chance(7));
  return { ...Object.fromEntries(kept), ...(choices.chance(4) && textsOf(choices, values)) };
}

function valueOf(choices: Choices, depth: number): unknown {
  const kind = choices.below(depth > 0 ? 10 : 5);
  if (kind < 2) return choices.one(TEXTS);
  if (kind < 4) return choices.one(NUMBERS);
  if (kind === 4) return choices.one([true, false, null]);
  return kind < 7 ? objectOf(choices, depth - 1) : listOf(choices, depth - 1);
}

function objectOf(choices: Choices, depth: number): Json {
  const size = choices.below(4);
  return Object.fromEntries(Array.from({ length: size }, () => [choices.one(KEYS), valueOf(choices, depth)]));
}

/**
 * Generates mostly lists of objects with one or two of the keys by which lists are merged. Two items may have the same
 * key.
 */
function listOf(choices: Choices, depth: number): unknown[] {
  const size = choices.below(4);
  if (choices.chance(2)) return Array.from({ length: size }, () => valueOf(choices, 0));
  const keys = choices.chance(3) ? [choices.one(LIST_KEYS), choices.one(LIST_KEYS)] : [choices.one(LIST_KEYS)];
  return Array.from({ length: size }, () => keyed(choices, keys, depth));
}

function rival({ one }: Choices, keys: string[]): Json {
  return { ...Object.fromEntries(keys.map((key) => [key, one([80, 443, "x"])])), [one(["a", "b"])]: one(TEXTS) };
}

function keyed(choices: Choices, keys: string[], depth: number): Json {
  const value = () =>
    choices.chance(9) ? choices.one([80, 443, "x", "y", "80"]) : choices.one([null, true, 1.5, {}, "z"]);
  const named = keys.filter(() => choices.chance(9)).map((key) => [key, value()]);
  return { ...objectOf(choices, depth), ...Object.fromEntries(named) };
}

/** Changes parts of a value at random: parts are removed, added, changed and reordered. */
function variantOf(choices: Choices, value: unknown, depth: number): unknown {
  if (choices.below(8) === 0 && depth < 3) return valueOf(choices, Math.max(depth, 0));
  if (Array.isArray(value)) {
    const items = value.filter(() => choices.chance(8)).map((item) => variantOf(choices, item, depth - 1));
    if (choices.chance(3)) items.reverse();
    return choices.chance(3) ? [...items, ...listOf(choices, depth - 1)] : items;
  }
  if (isObject(value)) return changedFields(choices, value, depth);
  return choices.chance(8) ? value : valueOf(choices, 0);
}

function changedFields(choices: Choices, object: Json, depth: number): Json {
  const fields = Object.entries(object).filter(() => choices.chance(8));
  return {
    ...Object.fromEntries(fields.map(([key, field]) => [key, variantOf(choices, field, depth - 1)])),
    ...(choices.chance(3) && objectOf(choices, Math.max(depth - 1, 0))),
  };
}
