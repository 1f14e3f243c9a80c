/**
 * Implements Metacontroller's dynamic apply, the three-way merge of a child, as pure functions that never change their
 * inputs. @module
 */
import { isObject, isRawInteger, type Json, parseJson } from "./json.ts";

/** The annotation in which Metacontroller stores the desired object that it last applied, as JSON text. */
export const LAST_APPLIED_ANNOTATION = "metacontroller.k8s.io/last-applied-configuration";

/**
 * A list is merged by the first of these keys that every item of all three lists has. If there is none, the whole list
 * is replaced.
 */
const LIST_KEYS = ["containerPort", "port", "mountPath", "name", "uid", "ip", "path"];

/** Fields that only the API server writes. A desired value for one of them is ignored. */
const SYSTEM_METADATA = [
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
];

/**
 * Merges the desired object into the observed one, like `kubectl apply`.
 *
 * | value | result |
 * |---|---|
 * | object | fields in `lastApplied` but not in `desired` are removed, fields in `desired` are merged, other observed fields stay |
 * | list whose items share a key | the same for each item; items in observed order, then new items |
 * | any other list, scalar, null | the desired value |
 *
 * The result shares parts with the inputs: do not change it. A field that is `undefined` counts as absent.
 * Source: metacontroller/metacontroller pkg/dynamic/apply/apply.go, 4.17.2.
 */
export function mergeApply(observed: object, lastApplied: object | undefined, desired: object): Json {
  return mergeObject(observed as Json, (lastApplied ?? {}) as Json, desired as Json);
}

/**
 * Reads the last applied configuration of an observed object.
 *
 * @returns undefined if there is no such annotation
 * @throws {SyntaxError} if the annotation is not the JSON text of an object, or is nested deeper than any Kubernetes
 * object. Everybody who may write the object may write the annotation, and recursive functions would overflow the stack
 */
export function lastApplied(object: object): Json | undefined {
  const text =
    stringMap(isObject(metadataOf(object)) ? metadataOf(object)["annotations"] : {})[LAST_APPLIED_ANNOTATION];
  if (!text) return undefined;
  if (isDeep(text)) {
    throw new SyntaxError(`Cannot read annotation ${LAST_APPLIED_ANNOTATION}: it is nested too deeply`);
  }
  const value = parsed(text);
  if (value === null) return undefined;
  if (!isObject(value)) {
    throw new SyntaxError(`Cannot read annotation ${LAST_APPLIED_ANNOTATION}: it is not a JSON object`);
  }
  return value;
}

/** Kubernetes objects have far fewer levels: a PodSpec has about a dozen. */
const MOST_LEVELS = 200;

/** Tells whether JSON text is nested deeper than `MOST_LEVELS`. */
function isDeep(text: string): boolean {
  // Most texts have fewer brackets than that, so the levels need not be counted.
  if ((text.match(/[[{]/g)?.length ?? 0) <= MOST_LEVELS) return false;
  let levels = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === "[" || token === "{") levels++;
    else if (token === "]" || token === "}") levels--;
    if (levels > MOST_LEVELS) return true;
  }
  return false;
}

/**
 * Computes the complete object that dynamic apply would write for an existing child.
 *
 * System metadata and status keep their observed values. The last-applied annotation becomes the JSON text of
 * `desired`, byte for byte as Metacontroller writes it. If `sameJson(result, observed)`, nothing needs to be written.
 *
 * @param remembered the content of the annotation, if it is not `desired`. A later merge does not remove fields that
 * are not in it
 * @throws {SyntaxError} if the observed last-applied annotation is broken
 */
export function applyUpdate<T extends object>(observed: T, desired: object, remembered?: object): T {
  const wanted = withoutLastApplied(desired as Json);
  const merged = mergeApply(observed, lastApplied(observed), wanted);
  const metadata = { ...(isObject(merged["metadata"]) ? merged["metadata"] : {}) };
  for (const field of SYSTEM_METADATA) revert(metadata, metadataOf(observed), field);
  metadata["annotations"] = annotationsWith(metadata, remembered ?? wanted);
  const result: Json = { ...merged, metadata };
  revert(result, observed as Json, "status");
  return result as T;
}

/**
 * Computes the complete object that dynamic apply would create: the desired object with its last-applied annotation.
 *
 * @param remembered as for {@link applyUpdate}
 */
export function applyCreate<T extends object>(desired: T, remembered: object = desired): T {
  const metadata = metadataOf(desired);
  return { ...desired, metadata: { ...metadata, annotations: annotationsWith(metadata, remembered) } };
}

function annotationsWith(metadata: Json, applied: object): Record<string, string> {
  return { ...stringMap(metadata["annotations"]), [LAST_APPLIED_ANNOTATION]: canonicalJson(applied) };
}

/** Compares JSON values. The order of keys does not matter, that of list items does. `undefined` counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (isRawInteger(a)) return isRawInteger(b) && a.rawJSON === b.rawJSON;
  if (!isObject(a) || !isObject(b)) return false;
  const keys = presentKeys(a);
  return keys.length === presentKeys(b).length && keys.every((key) => present(b, key) && sameJson(a[key], b[key]));
}

/**
 * Formats a JSON value as Go's `json.Marshal` formats a map: keys in the order of their UTF-8 bytes, no spaces, and
 * `<`, `>`, `&`, U+2028 and U+2029 escaped.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const fields = presentKeys(value).sort(compareBytes).map((key) => `${quote(key)}:${canonicalJson(value[key])}`);
  return `{${fields.join()}}`;
}

function merge(observed: unknown, last: unknown, desired: unknown): unknown {
  if (Array.isArray(observed)) {
    return mergeList(observed, Array.isArray(last) ? last : [], Array.isArray(desired) ? desired : undefined);
  }
  // Metacontroller is meant to refuse a value of another type here, but treats it as empty. This code does the same.
  if (isObject(observed)) return mergeObject(observed, isObject(last) ? last : {}, isObject(desired) ? desired : {});
  return desired;
}

function mergeObject(observed: Json, last: Json, desired: Json): Json {
  const merged = new Map(Object.entries(observed));
  for (const key of Object.keys(last)) if (!present(desired, key)) merged.delete(key);
  for (const key of presentKeys(desired)) {
    merged.set(key, merge(merged.get(key), present(last, key) ? last[key] : undefined, desired[key]));
  }
  return Object.fromEntries(merged);
}

/** Returns the key by which the items of these lists are merged; undefined: the items have no key in common. */
function sharedKey(lists: unknown[][]): string | undefined {
  if (!lists.every((list) => list.every(isObject)) || lists.every((list) => list.length === 0)) return undefined;
  return LIST_KEYS.find((name) => lists.every((list) => list.every((item) => present(item as Json, name))));
}

/** Merges lists. @param desired undefined: the desired value is not a list, or is absent */
function mergeList(observed: unknown[], last: unknown[], desired: unknown[] | undefined): unknown {
  const key = sharedKey([observed, last, desired ?? []]);
  if (key === undefined) return desired ?? null;

  const keyed = (list: unknown[]) => Object.fromEntries((list as Json[]).map((item) => [keyText(item[key]), item]));
  const merged = new Map(Object.entries(mergeObject(keyed(observed), keyed(last), keyed(desired ?? []))));
  const observedKeys = (observed as Json[]).map((item) => keyText(item[key])).filter((text) => merged.has(text));
  const desiredKeys = ((desired ?? []) as Json[]).map((item) => keyText(item[key]));
  const added = new Set(desiredKeys).difference(new Set(observedKeys));
  return [...observedKeys, ...added].map((text) => merged.get(text));
}

/**
 * Returns a key's value as text. If an observed key occurs twice, both places get the last item with it, as in
 * Metacontroller.
 */
function keyText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "<nil>" : canonicalJson(value);
}

function revert(target: Json, observed: Json, field: string): void {
  if (present(observed, field)) target[field] = observed[field];
  else delete target[field];
}

function withoutLastApplied(desired: Json): Json {
  const annotations = stringMap(metadataOf(desired)["annotations"]);
  if (!Object.hasOwn(annotations, LAST_APPLIED_ANNOTATION)) return desired;
  const { [LAST_APPLIED_ANNOTATION]: _, ...rest } = annotations;
  return { ...desired, metadata: { ...metadataOf(desired), annotations: rest } };
}

/**
 * Reads labels or annotations as Metacontroller does: null becomes "". If any other value is not a string, the whole
 * map is empty.
 */
function stringMap(value: unknown): Record<string, string> {
  const entries = isObject(value) ? Object.entries(value).filter(([, text]) => text !== undefined) : [];
  if (entries.some(([, text]) => text !== null && typeof text !== "string")) return {};
  return Object.fromEntries(entries.map(([key, text]) => [key, (text ?? "") as string]));
}

function metadataOf(object: object): Json {
  const metadata = (object as Json)["metadata"];
  return isObject(metadata) ? metadata : {};
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new SyntaxError(`Cannot read annotation ${LAST_APPLIED_ANNOTATION}: it is not JSON`);
  }
}

/** Tells whether an object has the field. A field that is `undefined` counts as absent. */
export function present(object: Json, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== undefined;
}

/** Lists the fields that an object has, without those that are `undefined`. */
export function presentKeys(object: Json): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

const ESCAPED = /[<>&\u2028\u2029]/g;
const LONE_SURROGATE = /\p{Surrogate}/gu;

function quote(text: string): string {
  const escape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text.replace(LONE_SURROGATE, "\ufffd")).replace(ESCAPED, escape);
}

/** Compares in the order of UTF-8 bytes: as UTF-16, except that surrogates belong to the highest characters. */
function compareBytes(a: string, b: string): number {
  const rank = (unit: number) => unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/**
 * Tells whether the result of `mergeApply` with these three objects equals the observed object.
 *
 * The result is the same as that of comparing the two, because the rules follow those of the merge:
 *
 * | value | unchanged if |
 * |---|---|
 * | object | no existing field is removed, and every desired field exists and is unchanged |
 * | list whose items share a key | the same for each item; if two items have the same key, the function does the merge and compares |
 * | any other list, scalar, null | it equals the desired value |
 */
export function isUnchangedByMerge(observed: object, lastApplied: object | undefined, desired: object): boolean {
  return keepsObject(observed as Json, (lastApplied ?? {}) as Json, desired as Json);
}

function keeps(observed: unknown, last: unknown, desired: unknown): boolean {
  if (isObject(observed)) return keepsObject(observed, isObject(last) ? last : {}, isObject(desired) ? desired : {});
  if (!Array.isArray(observed)) return sameJson(observed, desired);
  return keepsList(observed, Array.isArray(last) ? last : [], Array.isArray(desired) ? desired : undefined);
}

function keepsObject(observed: Json, last: Json, desired: Json): boolean {
  for (const key of Object.keys(last)) if (!present(desired, key) && present(observed, key)) return false;
  return presentKeys(desired).every((key) =>
    present(observed, key) && keeps(observed[key], present(last, key) ? last[key] : undefined, desired[key])
  );
}

function keepsList(observed: unknown[], last: unknown[], desired: unknown[] | undefined): boolean {
  const key = sharedKey([observed, last, desired ?? []]);
  if (key === undefined) return sameJson(observed, desired ?? null);
  const [is, was, will] = [observed, last, desired ?? []].map((list) => keyedItems(list as Json[], key));
  // Items with the same key are merged into each other.
  const isPlain = is!.size === observed.length && was!.size === last.length && will!.size === (desired ?? []).length;
  if (!isPlain) return sameJson(observed, mergeList(observed, last, desired));
  for (const text of was!.keys()) if (!will!.has(text) && is!.has(text)) return false;
  return [...will!].every(([text, item]) => is!.has(text) && keepsObject(is!.get(text)!, was!.get(text) ?? {}, item));
}

function keyedItems(list: Json[], key: string): Map<string, Json> {
  return new Map(list.map((item) => [keyText(item[key]), item]));
}
