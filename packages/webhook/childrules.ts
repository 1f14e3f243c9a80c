/**
 * Checks whether an answer creates and changes only what the hook has declared: in which fields an existing child may
 * change, what a new child must look like, and how many new children there may be.
 * @module
 */
import { sameJson } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { CONTROLLER_UID_LABEL, DECORATOR_ANNOTATION } from "../api/objects/keys.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { type FieldChange, fieldChanges } from "./fieldchanges.ts";
import { kindKey, type Observed } from "./metacontroller.ts";
import { appliedTo } from "./once.ts";
import { unchangedSpec } from "./unchanged.ts";

/** A field of a child that would change, or become Metacontroller's, with everything that a rule may need. */
export interface Change<Parent> extends FieldChange {
  child: KubeObject;
  /** The child in the answer. */
  desired: DesiredObject;
  observed: Observed<Parent>;
  now: Date;
}

/** How an answer may create and change the children of one kind. */
export interface ChildRule<Parent> {
  /** Plural name, as in the controller's manifest: `pods`. */
  resource: string;
  /**
   * As in the controller's manifest. The hook refuses to answer a controller with another strategy: `Recreate` would
   * delete children.
   */
  updateStrategy: "OnDelete" | "InPlace";
  /**
   * The fields in which an existing child may change, by path: `spec.ports`. A path includes all fields below it. The
   * function tells whether the parent asks for this change. No other field may change.
   */
  mayChange: Readonly<Record<string, (change: Change<Parent>) => boolean>>;
  /**
   * Lists the fields, as text, in which a new child differs from what the parent asks for. If there are none, it may be
   * created. Must not use the code that builds the child. Absent: no child may be created.
   */
  wrongWith?(child: DesiredObject, observed: Observed<Parent>, now: Date): string[];
  /** How many new children one answer may ask for. @default all that `wrongWith` allows */
  mostNew?(observed: Observed<Parent>): number;
  /** The controller is a DecoratorController, which sets an annotation of its own on each of these children. */
  isAttachment?: true;
  /**
   * Tells from the last-applied annotation whether a merge into the child is impossible, so that an answer may only name the
   * child. @default only if the annotation cannot be read
   */
  isBeyondRepair?(applied: Json): boolean;
}

/** The rules for children, by {@link kindKey}. Children of all other kinds may not be created or changed. */
export type ChildRules<Parent> = Readonly<Record<string, ChildRule<Parent>>>;

/** A child of an answer. `child` is the observed object; absent: it does not exist yet. */
export interface WantedChild {
  desired: DesiredObject;
  child?: KubeObject | undefined;
}

/** A child that would violate its rules, and the fields in which it would. */
export interface Violation {
  child: DesiredObject;
  fields: string[];
}

/** The children of an answer that violate the rules. */
export interface Violations {
  changed: Violation[];
  made: Violation[];
}

/** Finds violations. Ignores children that are being deleted, because Metacontroller does not change them. */
export function violationsOf<Parent>(
  wanted: readonly WantedChild[],
  observed: Observed<Parent>,
  rules: ChildRules<Parent>,
  now: Date,
): Violations {
  const changed: Violation[] = [];
  const made: Violation[] = [];
  const counts = new Map<ChildRule<Parent>, number>();
  for (const { desired, child } of wanted) {
    const rule = Object.hasOwn(rules, kindKey(desired)) ? rules[kindKey(desired)] : undefined;
    if (child) {
      const fields = forbiddenChanges(child, desired, rule, observed, now);
      if (fields.length > 0) changed.push({ child: desired, fields });
      continue;
    }
    const fields = rule?.wrongWith?.(desired, observed, now) ?? ["kind"];
    if (fields.length > 0) made.push({ child: desired, fields });
    else if (rule?.mostNew) {
      const count = (counts.get(rule) ?? 0) + 1;
      counts.set(rule, count);
      if (count > rule.mostNew(observed)) made.push({ child: desired, fields: ["more than the parent asks for"] });
    }
  }
  return { changed, made };
}

function forbiddenChanges<Parent>(
  child: KubeObject,
  desired: DesiredObject,
  rule: ChildRule<Parent> | undefined,
  observed: Observed<Parent>,
  now: Date,
): string[] {
  if (child.metadata.deletionTimestamp !== undefined || rule?.updateStrategy === "OnDelete") return [];
  const applied = appliedTo(child);
  if (applied === "broken" || (applied && rule?.isBeyondRepair?.(applied))) {
    const { apiVersion: _, kind: __, metadata: { name: ___, namespace: ____, ...metadata }, ...rest } = desired;
    return [...Object.keys(metadata).map((field) => `metadata.${field}`), ...Object.keys(rest)];
  }
  const changes = fieldChanges(child, applied, withEngineKeys(desired, child, observed));
  return changes.filter((change) => !mayChange({ ...change, child, desired, observed, now }, rule))
    .map(({ path }) => path.join("."));
}

/**
 * Tells whether a change keeps the spec. A merge cannot keep ports that share a number. The answer then has to be the nearest
 * possible spec (unchanged.ts), the API server refuses the result, and the keeper repairs the object.
 *
 * @param part returns the part of the spec that must not change. @default all of it
 */
export function isSpecLeftAlone<Parent>(
  { is, will, child, desired }: Change<Parent>,
  part = (spec: unknown): unknown => spec,
): boolean {
  if (sameJson(is, will)) return true;
  const applied = appliedTo(child);
  return applied !== "broken" && sameJson(part(desired.spec), part(unchangedSpec(child, applied).spec));
}

function mayChange<Parent>(change: Change<Parent>, rule: ChildRule<Parent> | undefined): boolean {
  const { path, will, was, wants, observed } = change;
  if (path.length === 3 && path[1] === "labels" && path[2] === CONTROLLER_UID_LABEL) {
    return will === (observed.parent as KubeObject).metadata.uid;
  }
  if (rule?.isAttachment && path.length === 3 && path[1] === "annotations" && path[2] === DECORATOR_ANNOTATION) {
    return true;
  }
  // An applied value that another writer has changed since may be restored.
  const isMap = path.length === 3 && path[0] === "metadata" && ["labels", "annotations"].includes(path[1] ?? "");
  if (isMap && was !== undefined && was === wants) return true;
  const field = Object.keys(rule?.mayChange ?? {}).find((declared) =>
    declared.split(".").every((name, index) => path[index] === name)
  );
  return field !== undefined && rule?.mayChange[field]?.(change) === true;
}

/** Adds the label of a generated selector, as Metacontroller does before it merges an answer, to a child that has one. */
function withEngineKeys<Parent>(
  desired: DesiredObject,
  child: KubeObject,
  { parent }: Observed<Parent>,
): DesiredObject {
  const { labels } = desired.metadata;
  const { uid } = (parent as KubeObject).metadata;
  const isLabelled = child.metadata.labels?.[CONTROLLER_UID_LABEL] !== undefined;
  if (!isLabelled || labels?.[CONTROLLER_UID_LABEL] !== undefined || uid === undefined) return desired;
  return { ...desired, metadata: { ...desired.metadata, labels: { ...labels, [CONTROLLER_UID_LABEL]: uid } } };
}

/** A controller's rule for children, as in a request. */
interface SentRule {
  apiVersion?: unknown;
  resource?: unknown;
  updateStrategy?: { method?: unknown };
}

/**
 * Returns which update strategy of the calling controller differs from the hook's declaration; undefined: none, or the
 * request does not contain the controller.
 */
export function unexpectedStrategy<Parent>(request: unknown, rules: ChildRules<Parent>): string | undefined {
  const controller = isObject(request) ? request["controller"] : undefined;
  const spec = isObject(controller) && isObject(controller["spec"]) ? controller["spec"] : {};
  const sent = [spec["childResources"], spec["attachments"]].flatMap((list) => Array.isArray(list) ? list : []);
  for (const [key, { resource, updateStrategy }] of Object.entries(rules)) {
    const apiVersion = key.slice(key.indexOf(".") + 1);
    const rule = sent.filter(isObject).find((each: SentRule) =>
      each.apiVersion === apiVersion && each.resource === resource
    ) as SentRule | undefined;
    const method = rule?.updateStrategy?.method || "OnDelete";
    if (rule && method !== updateStrategy) {
      return `the controller updates ${resource} by ${String(method)}, not by ${updateStrategy} as its manifest says`;
    }
  }
  return undefined;
}
