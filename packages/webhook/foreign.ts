/** Removes fields that another writer has added to a child, through Metacontroller's merge. @module */
import { isObject, type Json } from "../api/objects/json.ts";

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
