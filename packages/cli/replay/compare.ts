/** Compares two responses to one request by their effect when Metacontroller applies them. @module */

/** A response: its HTTP status and its JSON value. */
export interface HookAnswer {
  status: number;
  body: unknown;
}

/**
 * One difference of the second response.
 *
 * | effect | meaning |
 * |---|---|
 * | `answers` | another HTTP status, such as an exception (500) or a refusal of the guard (429) |
 * | `deletes` | an existing child is deleted; the first response wanted it |
 * | `keeps` | an existing child stays; the first response left it out |
 * | `creates` | a new child is created |
 * | `omits` | a new child is not created |
 * | `changes` | a field of a child, or of the response itself, has another value |
 */
export interface Change {
  effect: "answers" | "deletes" | "keeps" | "creates" | "omits" | "changes";
  /** Kind and name of the child. Absent if the change concerns the parent, or the whole response. */
  child?: { kind: string; name: string };
  /** Empty if the change concerns a whole child or the HTTP status. */
  path: string;
  before: unknown;
  after: unknown;
}

type Child = { apiVersion?: string; kind?: string; metadata?: { name?: string } };
type Body = Record<string, unknown> & { children?: Child[]; attachments?: Child[] };

/**
 * Compares two responses: children by kind and name, conditions by type, `resyncAfterSeconds`, labels and annotations,
 * and the related objects of customize. The order of children has no meaning. If a response is an error, only the
 * status is compared.
 */
export function answerChanges(request: unknown, before: HookAnswer, after: HookAnswer): Change[] {
  if (before.status !== after.status) {
    return [{ effect: "answers", path: "", before: errorOf(before), after: errorOf(after) }];
  }
  if (before.status !== 200) return [];
  const { children: _, attachments: __, ...rest } = before.body as Body;
  const { children: ___, attachments: ____, ...otherRest } = after.body as Body;
  const ofParent = fieldChanges(rest, otherRest).map((change) => ({ effect: "changes", ...change }) as const);
  return [...childChanges(request, before.body as Body, after.body as Body), ...ofParent];
}

/** Returns the status, and the error message of a response. */
function errorOf({ status, body }: HookAnswer): string {
  const error = (body as { error?: unknown } | null)?.error;
  return typeof error === "string" ? `${status} ${error}` : String(status);
}

function childChanges(request: unknown, before: Body, after: Body): Change[] {
  const [old, now] = [childrenOf(before), childrenOf(after)];
  const observed = observedKeys(request);
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): Change[] => {
    const [was, is] = [old.get(key), now.get(key)];
    const { kind = "", metadata } = is ?? was ?? {};
    const child = { kind, name: metadata?.name ?? "" };
    const isThere = observed.has(key);
    if (!is) return [{ effect: isThere ? "deletes" : "omits", child, path: "", before: was, after: is }];
    if (!was) return [{ effect: isThere ? "keeps" : "creates", child, path: "", before: was, after: is }];
    return fieldChanges(was, is).map((change) => ({ effect: "changes", child, ...change }));
  });
}

function childrenOf({ children, attachments }: Body): Map<string, Child> {
  return new Map((children ?? attachments ?? []).map((child) => [childKey(child), child]));
}

function observedKeys(request: unknown): Set<string> {
  const { children, attachments } = request as Record<string, Record<string, Record<string, Child>> | undefined>;
  return new Set(Object.values(children ?? attachments ?? {}).flatMap((named) => Object.values(named).map(childKey)));
}

function childKey({ apiVersion, kind, metadata }: Child): string {
  return `${kind}.${apiVersion}/${metadata?.name}`;
}

/**
 * One field that differs. Undefined on one side means that the field is absent there. `path` has the form
 * `spec.containers[agent].image`.
 */
interface FieldChange {
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
  if (changes.length > 0 || before.every((item, index) => itemKey(item, key) === itemKey(after[index], key))) {
    return changes;
  }
  const names = (items: unknown[]) => items.map((item) => itemKey(item, key));
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
  const keys = items.map((item) => itemKey(item, key));
  return keys.every((value) => value !== undefined) && new Set(keys).size === keys.length;
}

function itemKey(item: unknown, key: string): string | undefined {
  const value = isFields(item) ? item[key] : undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function byKey(items: unknown[], key: string): Fields {
  return Object.fromEntries(items.map((item) => [itemKey(item, key) ?? "", item]));
}

function joined(path: string, key: string): string {
  // Keys of labels contain dots and slashes.
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}["${key}"]`;
  return path === "" ? key : `${path}.${key}`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
