/**
 * Tells whether a merge changes anything, without building the merged object, because every answer needs this. @module
 */
import { keyText, mergeList, present, presentKeys, sameJson, sharedKey } from "./apply.ts";
import { isObject, type Json } from "./json.ts";

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
