/** Lists the fields in which an answer changes a child, and those that it takes into Metacontroller's hands. Pure. @module */
import { LAST_APPLIED_ANNOTATION, mergeApply, sameJson } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { isUnchangedByMerge } from "../api/objects/unchangedbymerge.ts";

/** One field. A value is undefined where the field is absent. */
export interface FieldChange {
  /** Names of the fields from the top: `["metadata", "labels", "app"]`. A list is one field. */
  path: readonly string[];
  /** As it is observed. */
  is: unknown;
  /** As it will be once Metacontroller has merged the answer. The same as `is`: it only becomes Metacontroller's. */
  will: unknown;
  /** As it was applied last. */
  was: unknown;
  /** As it is answered. */
  wants: unknown;
}

/** Written by the API server alone, or never written with a child: Metacontroller ignores what is answered for them. */
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
/** Name and namespace are checked before, and name the child. */
const IDENTITY = new Set(["apiVersion", "kind", "metadata.name", "metadata.namespace"]);

/**
 * Lists what comes of an answer for one child: the fields that Metacontroller's merge changes, and those that were not
 * applied before and would be from now on. The latter matter as much: what was applied and is not answered later is removed,
 * and what is answered again is put back when its user changes it.
 *
 * @param applied the child as it was applied last; undefined: never
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
      // Neither has a key: the API server stores no empty map there.
    } else if (!sameJson(is, will) || isTaken(was, wants)) changes.push({ path, is, will, was, wants });
  };
  walk([], observed, merged, applied, desired);
  return changes;
}

type Json4 = [Json, Json, Json, Json];

/** Lists the paths, as text, in which an object is not as it should be. */
export function differences(object: unknown, expected: unknown, path: readonly string[] = []): string[] {
  if (sameJson(object, expected)) return [];
  if (!isObject(object) || !isObject(expected)) return [path.join(".")];
  const keys = new Set([...Object.keys(object), ...Object.keys(expected)]);
  return [...keys].flatMap((key) => differences(own(object, key), own(expected, key), [...path, key]));
}

/** Tells whether something would be remembered as applied that was not, though its value may be the observed one. */
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
