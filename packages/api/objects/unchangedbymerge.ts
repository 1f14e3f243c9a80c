/** Whether a merge changes anything, by a walk that builds nothing: it is asked with every answer. Pure. @module */
import { keyText, mergeList, present, presentKeys, sameJson, sharedKey } from "./apply.ts";
import { isObject, type Json } from "./json.ts";

/**
 * Tells whether `mergeApply` of these three is what is observed again.
 *
 * It says what a comparison of the two says, rule by rule as the merge goes:
 *
 * | value | unchanged where |
 * |---|---|
 * | object | no field that is there goes, each desired one is there, and is unchanged itself |
 * | list whose items share a key | the same of items; where two have one key, the merge itself is made and compared |
 * | any other list, scalar, null | it is the desired one |
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
  // Items that share a key are merged into one another.
  const isPlain = is!.size === observed.length && was!.size === last.length && will!.size === (desired ?? []).length;
  if (!isPlain) return sameJson(observed, mergeList(observed, last, desired));
  for (const text of was!.keys()) if (!will!.has(text) && is!.has(text)) return false;
  return [...will!].every(([text, item]) => is!.has(text) && keepsObject(is!.get(text)!, was!.get(text) ?? {}, item));
}

function keyedItems(list: Json[], key: string): Map<string, Json> {
  return new Map(list.map((item) => [keyText(item[key]), item]));
}
