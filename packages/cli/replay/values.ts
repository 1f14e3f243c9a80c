/** Lists the differences of two JSON values; items of lists are matched by name, as in Kubernetes. @module */

/**
 * One field that differs. Undefined on one side means that the field is absent there. `path` has the form
 * `spec.containers[agent].image`.
 */
export interface FieldChange {
  path: string;
  before: unknown;
  after: unknown;
}

/** Possible keys of list items. The first key that all items have, and that is unique, is used. */
const LIST_KEYS = ["type", "name", "key", "mountPath", "containerPort", "port", "resource"];

type Fields = Record<string, unknown>;

/**
 * Lists the differing fields, in the order of the fields. The order of object keys has no meaning, but that of lists
 * has. If a list has the same items in another order, the change is `<path> (order)`.
 */
export function fieldChanges(before: unknown, after: unknown, path = ""): FieldChange[] {
  if (Object.is(before, after)) return [];
  if (isFields(before) && isFields(after)) return changesOfFields(before, after, (key) => joined(path, key));
  if (Array.isArray(before) && Array.isArray(after)) return changesOfLists(before, after, path);
  return [{ path, before, after }];
}

function changesOfFields(before: Fields, after: Fields, pathOf: (key: string) => string): FieldChange[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => fieldChanges(before[key], after[key], pathOf(key)));
}

function changesOfLists(before: unknown[], after: unknown[], path: string): FieldChange[] {
  const key = LIST_KEYS.find((candidate) => isKeyedBy(before, candidate) && isKeyedBy(after, candidate));
  if (key === undefined) return changesOfPlaces(before, after, path);
  const [old, now] = [byKey(before, key), byKey(after, key)];
  const changes = changesOfFields(old, now, (name) => `${path}[${name}]`);
  if (changes.length > 0 || before.every((item, index) => keyOf(item, key) === keyOf(after[index], key))) {
    return changes;
  }
  const names = (items: unknown[]) => items.map((item) => keyOf(item, key));
  return [{ path: `${path} (order)`, before: names(before), after: names(after) }];
}

/** Compares items without a key: field by field if the lists have the same length, otherwise as a whole. */
function changesOfPlaces(before: unknown[], after: unknown[], path: string): FieldChange[] {
  const areFields = before.length === after.length && [...before, ...after].every(isFields);
  if (areFields) return before.flatMap((item, index) => fieldChanges(item, after[index], `${path}[${index}]`));
  const isSame = before.length === after.length &&
    before.every((item, index) => fieldChanges(item, after[index]).length === 0);
  return isSame ? [] : [{ path, before, after }];
}

function isKeyedBy(items: unknown[], key: string): boolean {
  const keys = items.map((item) => keyOf(item, key));
  return keys.every((value) => value !== undefined) && new Set(keys).size === keys.length;
}

function keyOf(item: unknown, key: string): string | undefined {
  const value = isFields(item) ? item[key] : undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function byKey(items: unknown[], key: string): Fields {
  return Object.fromEntries(items.map((item) => [keyOf(item, key) ?? "", item]));
}

function joined(path: string, key: string): string {
  // Keys of labels contain dots and slashes.
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}["${key}"]`;
  return path === "" ? key : `${path}.${key}`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
