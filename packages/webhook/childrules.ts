/**
 * What an answer may make of children: in which fields one that exists may change, what a new one must look like, and how
 * many there may be. Whatever a hook has not declared is refused. Pure. @module
 */
import { sameJson } from "../api/objects/apply.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { CONTROLLER_UID_LABEL, DECORATOR_ANNOTATION } from "../api/objects/keys.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import { type FieldChange, fieldChanges } from "./fieldchanges.ts";
import { kindKey, type Observed } from "./metacontroller.ts";
import { appliedTo } from "./once.ts";
import { unchangedSpec } from "./unchanged.ts";

/** A field of a child that would change, or become Metacontroller's, and all that it can be judged by. */
export interface Change<Parent> extends FieldChange {
  child: KubeObject;
  /** The child as it is answered. */
  desired: DesiredObject;
  observed: Observed<Parent>;
  now: Date;
}

/** What an answer may make of the children of one kind. */
export interface ChildRule<Parent> {
  /** Plural name, as in the controller's manifest: `pods`. */
  resource: string;
  /** As in the controller's manifest. Under any other one the hook does not answer: `Recreate` deletes what differs. */
  updateStrategy: "OnDelete" | "InPlace";
  /**
   * The fields in which a child that exists may change, by their path: `spec.ports`; a path stands for all below it. Says
   * whether this change is one that the parent asks for. No other field may change.
   */
  mayChange: Readonly<Record<string, (change: Change<Parent>) => boolean>>;
  /**
   * Lists the fields, as text, in which a new child is not what the parent asks for; none: it may be made. Computed by other
   * code than that which builds it. Absent: no child may be made.
   */
  wrongWith?(child: DesiredObject, observed: Observed<Parent>, now: Date): string[];
  /** How many new children one answer may ask for. @default as many as `wrongWith` lets pass */
  mostNew?(observed: Observed<Parent>): number;
  /** The controller is a DecoratorController, which puts its own annotation on each of these. */
  isAttachment?: true;
  /**
   * Tells, by what was applied last, whether nothing of use can be merged into a child, so that an answer does no more than
   * name it. @default only where that cannot be read
   */
  isBeyondRepair?(applied: Json): boolean;
}

/** What an answer may make of children, by {@link kindKey}; of a kind that is not here nothing. */
export type ChildRules<Parent> = Readonly<Record<string, ChildRule<Parent>>>;

/** What an answer wants to make of the children: `child` is as it is observed, absent where there is none yet. */
export interface WantedChild {
  desired: DesiredObject;
  child?: KubeObject | undefined;
}

/** A child that would not be what its rules allow, and the fields in which it would not. */
export interface Violation {
  child: DesiredObject;
  fields: string[];
}

/** What breaks the rules of an answer's children. */
export interface Violations {
  changed: Violation[];
  made: Violation[];
}

/** Finds what breaks the rules. Children that are being deleted are left out: Metacontroller does not touch them. */
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
 * Tells whether a change leaves the spec alone. Ports that share a number survive no merge: then the answer has to be the
 * spec that comes nearest (unchanged.ts). The API server refuses the result, and the keeper repairs it.
 *
 * @param part of the spec that must not change. @default all of it
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
  // What was applied before, and somebody else has changed since, is put back.
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

/** A controller's rule for children, as a request carries it. */
interface SentRule {
  apiVersion?: unknown;
  resource?: unknown;
  updateStrategy?: { method?: unknown };
}

/**
 * Tells which rule of the controller that asks is not what the hook was written for; undefined: none, or the request does not
 * carry its controller.
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
