/** Fields that somebody else has put into a child, and how to be rid of them through Metacontroller. Pure. @module */
import { isObject, type Json } from "../api/objects/json.ts";

/**
 * Returns `wanted` with the observed fields that are neither wanted nor were ever applied, as they are observed.
 *
 * Metacontroller removes only what it has applied itself. Answered once as it is, a foreign field becomes
 * Metacontroller's; the next answer has it among the applied ones, leaves it out, and it goes. Objects are looked into
 * as far as all sides have them; lists are replaced whole by the merge anyway.
 *
 * @param isOurs which fields of the outermost object are at stake; all by default
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
