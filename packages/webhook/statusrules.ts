/** What a status may say: whoever reads it, a claim's hook, the keeper, a client, deletes by it or connects by it. Pure. @module */
import { sameJson } from "../api/objects/apply.ts";
import { type Condition, type ConditionStatus, fitCondition } from "../api/objects/conditions.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Observed } from "./metacontroller.ts";
import type { Refusal } from "./guard.ts";

/** A condition that an answer says, and where it says it. */
export interface Saying<Parent> {
  said: Condition;
  observed: Observed<Parent>;
  now: Date;
  /** Whether the parent was observed to say the very same: type, status, reason and time. */
  isOld: boolean;
}

/** `Finished True` for any reason, `Ready False SandboxExpired` for one; `Ready Absent`: it was said, and is no more. */
type Words = `${string} ${ConditionStatus}` | `${string} ${ConditionStatus} ${string}` | `${string} Absent`;

/**
 * What must be so where the status says these words; it may say whatever is not among them. It looks at the request by
 * another way than the decision did.
 */
export type Evidence<Parent> = Readonly<Partial<Record<Words, (saying: Saying<Parent>) => boolean>>>;

/** Condition on a parent whose children are kept for now: the guard's own. There is none where none are. */
export const GUARDED = "Guarded";

/** What the other fields of a status may be. */
export interface StatusRules<Parent> {
  /** The types of condition that are the hook's own. Others are as they are observed. */
  conditionTypes: readonly string[];
  /** The hook carries the conditions of others along: none may go. @default it drops them */
  keepsOthers?: true;
  /**
   * What each field may be; undefined: it is absent. A field that is not listed is as it is observed, or absent.
   *
   * @param status of the answer, whole
   */
  fields: Readonly<Record<string, (value: unknown, observed: Observed<Parent>, now: Date, status: Json) => boolean>>;
}

/**
 * Looks for what a status says and nothing bears out.
 *
 * @param status of the answer, of whatever shape; undefined, null: it stays as it is
 * @param rules absent: fields may be whatever they are, and conditions of whatever type
 */
export function guardStatus<Parent>(
  observed: Observed<Parent>,
  status: unknown,
  now: Date,
  evidence: Evidence<Parent>,
  rules?: StatusRules<Parent>,
): Refusal | undefined {
  if (status === undefined || status === null) return undefined;
  const before = conditionsOf(observed.parent);
  const after = conditionsOf({ status });
  const wrong = (words: string) =>
    refusal(`status.conditions would say "${words}", which nothing that is observed bears out`);
  for (const said of after) {
    // Nothing keeps others from writing a type twice.
    const isOld = before.some((old) => isSame(said, old));
    const says: Words[] = [`${said.type} ${said.status}`, `${said.type} ${said.status} ${said.reason}`];
    const unproven = says.find((words) => isUnproven(evidence, words, { said, observed, now, isOld }));
    if (unproven !== undefined) return wrong(unproven);
    if (
      rules && !rules.conditionTypes.includes(said.type) &&
      !before.some((old) => sameJson(said, old) || sameJson(said, fitCondition(old)))
    ) {
      return refusal(`status.conditions would say ${said.type}, which this hook never does`);
    }
  }
  const gone = before.filter(({ type }) => !after.some((said) => said.type === type));
  for (const said of gone) {
    const words: Words = `${said.type} Absent`;
    if (isUnproven(evidence, words, { said, observed, now, isOld: false })) return wrong(words);
    if (rules?.keepsOthers && !rules.conditionTypes.includes(said.type) && said.type !== GUARDED) {
      return refusal(`status.conditions would no longer say ${said.type}, which is not this hook's`);
    }
  }
  const field = rules && isObject(status) ? wrongField(rules, status, observed, now) : undefined;
  return field === undefined ? undefined : refusal(`status.${field} would be what nothing that is observed bears out`);
}

/** What a decorator's answer may write on its parent: keys that are not listed stay as they are. */
export interface ParentRules<Parent> {
  labels?: MapRules<Parent>;
  annotations?: MapRules<Parent>;
}

type MapRules<Parent> = Readonly<
  Record<string, (value: string | null, observed: Observed<Parent>, now: Date) => boolean>
>;

/** Looks for a label or annotation of the parent that an answer would change where its rules do not say so. */
export function guardParent<Parent>(
  observed: Observed<Parent>,
  answer: object,
  now: Date,
  rules: ParentRules<Parent>,
): Refusal | undefined {
  const { metadata } = observed.parent as KubeObject;
  for (const map of ["labels", "annotations"] as const) {
    const changes = (answer as { [map]?: Record<string, string | null> })[map] ?? {};
    const key = Object.keys(changes).find((each) => {
      const value = changes[each] ?? null;
      if (value === (metadata[map]?.[each] ?? null)) return false;
      return !Object.hasOwn(rules[map] ?? {}, each) || rules[map]?.[each]?.(value, observed, now) !== true;
    });
    if (key !== undefined) return refusal(`metadata.${map} of the parent would change where they must not (${key})`);
  }
  return undefined;
}

function wrongField<Parent>(
  { fields }: StatusRules<Parent>,
  status: Json,
  observed: Observed<Parent>,
  now: Date,
): string | undefined {
  const old = (observed.parent as Partial<KubeObject>)["status"];
  const others = Object.keys(status).filter((field) => field !== "conditions" && !Object.hasOwn(fields, field));
  return Object.keys(fields).find((field) => !fields[field]?.(status[field], observed, now, status)) ??
    others.find((field) =>
      status[field] !== undefined && !sameJson(status[field], isObject(old) ? old[field] : undefined)
    );
}

function isUnproven<Parent>(evidence: Evidence<Parent>, words: Words, saying: Saying<Parent>): boolean {
  return Object.hasOwn(evidence, words) && evidence[words]?.(saying) === false;
}

function refusal(message: string): Refusal {
  return { message, children: [] };
}

/** Tells whether two conditions say the same since the same time. */
export function isSame(a: Condition, b: Condition): boolean {
  return a.type === b.type && a.status === b.status && a.reason === b.reason &&
    a.lastTransitionTime === b.lastTransitionTime;
}

/** Lists what an object's status says. */
export function conditionsOf(object: unknown): Condition[] {
  const { status } = object as Partial<KubeObject> & { status?: unknown };
  const conditions = isObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions as Condition[] : [];
}
