/** Lists the fields of a child that an answer changes, and those that become Metacontroller's. @module */
import { isUnchangedByMerge, LAST_APPLIED_ANNOTATION, mergeApply, sameJson } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";

/** One field. A value is undefined where the field is absent. */
export interface FieldChange {
  /** Names of the fields from the top: `["metadata", "labels", "app"]`. A list is one field. */
  path: readonly string[];
  /** The observed value. */
  is: unknown;
  /** The value after Metacontroller has merged the answer. If it equals `is`, the field only becomes Metacontroller's. */
  will: unknown;
  /** The value that was applied last. */
  was: unknown;
  /** The value in the answer. */
  wants: unknown;
}

/** Fields that only the API server writes, or that are never written with a child. Metacontroller ignores them in answers. */
const IGNORED = new Set([
  "status",
  "metadata.creationTimestamp",
  "metadata.deletionGracePeriodSeconds",
  "metadata.deletionTimestamp",
  "metadata.generation",
  "metadata.managedFields",
  "metadata.resourceVersion",
  "metadata.selfLink",
  "metadata.uid",
]);
/** Fields that identify the child. They are checked elsewhere. */
const IDENTITY = new Set(["apiVersion", "kind", "metadata.name", "metadata.namespace"]);

/**
 * Lists the effects of an answer on one child: the fields that Metacontroller's merge changes, and the fields that would be
 * applied for the first time. The latter matter as much: Metacontroller removes an applied field if a later answer leaves it
 * out, and restores it if a user changes it.
 *
 * @param applied the child as it was applied last; undefined: it was never applied
 */
export function fieldChanges(observed: object, applied: Json | undefined, desired: object): FieldChange[] {
  const last = applied ?? {};
  const isKept = isUnchangedByMerge(observed, last, desired);
  if (isKept && !addsTo(last, desired as Json)) return [];
  const merged = isKept ? observed as Json : mergeApply(observed, last, desired);
  const changes: FieldChange[] = [];
  const walk = (path: readonly string[], is: unknown, will: unknown, was: unknown, wants: unknown) => {
    if (path.length > 0 && isUninteresting(path)) return;
    if (isEmptyOrMap(is) && isEmptyOrMap(will) && (hasKeys(is) || hasKeys(will))) {
      const [from, to, old, wanted] = [is, will, was, wants].map((value) => isObject(value) ? value : {}) as Json4;
      for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
        walk([...path, key], own(from, key), own(to, key), own(old, key), own(wanted, key));
      }
    } else if (path[0] === "metadata" && isEmptyOrMap(is) && isEmptyOrMap(will)) {
      // Both are empty, and the API server stores no empty map there.
    } else if (!sameJson(is, will) || isTaken(was, wants)) changes.push({ path, is, will, was, wants });
  };
  walk([], observed, merged, applied, desired);
  return changes;
}

type Json4 = [Json, Json, Json, Json];

/** Lists the paths, as text, in which an object differs from the expected one. */
export function differences(object: unknown, expected: unknown, path: readonly string[] = []): string[] {
  if (sameJson(object, expected)) return [];
  if (!isObject(object) || !isObject(expected)) return [path.join(".")];
  const keys = new Set([...Object.keys(object), ...Object.keys(expected)]);
  return [...keys].flatMap((key) => differences(own(object, key), own(expected, key), [...path, key]));
}

/** Tells whether a field would be applied for the first time, even if its value equals the observed one. */
function addsTo(last: Json, desired: Json): boolean {
  return Object.keys(desired).some((key) => {
    const value = desired[key];
    if (value === undefined) return false;
    if (!Object.hasOwn(last, key)) return !IDENTITY.has(key);
    const before = last[key];
    if (value === before) return false;
    if (isObject(value)) return isObject(before) ? addsTo(before, value) : true;
    return Array.isArray(value) && !sameJson(value, before);
  });
}

function isTaken(was: unknown, wants: unknown): boolean {
  if (wants === undefined) return false;
  return was === undefined || (Array.isArray(wants) && !sameJson(was, wants));
}

function isUninteresting(path: readonly string[]): boolean {
  if (path.length > 3) return false;
  const text = path.join(".");
  return IGNORED.has(text) || IDENTITY.has(text) || text === `metadata.annotations.${LAST_APPLIED_ANNOTATION}`;
}

function isEmptyOrMap(value: unknown): boolean {
  return value === undefined || isObject(value);
}

function hasKeys(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
