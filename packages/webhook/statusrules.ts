/** Checks a status, because claims' hooks, the keeper and clients delete objects or connect to them because of it. @module */
import { sameJson } from "../api/objects/apply.ts";
import { type Condition, type ConditionStatus, findCondition, fitCondition } from "../api/objects/conditions.ts";
import { conditionSchema } from "../api/objects/schemas.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";
import type { Observed } from "./metacontroller.ts";
import type { Refusal } from "./guard.ts";

/** A condition in an answer, and the observed objects. */
export interface ReportedCondition<Parent> {
  said: Condition;
  observed: Observed<Parent>;
  now: Date;
  /** Whether the observed parent has the same condition: type, status, reason and time. */
  isOld: boolean;
}

/** `Finished True`: with any reason. `Ready False SandboxExpired`: with this reason. `Ready Absent`: it disappears. */
type ConditionText = `${string} ${ConditionStatus}` | `${string} ${ConditionStatus} ${string}` | `${string} Absent`;

/**
 * What must be observed if the status has these conditions. All other conditions are allowed. The functions must not
 * use the code of the decision.
 */
export type StatusInvariants<Parent> = Readonly<
  Partial<Record<ConditionText, (saying: ReportedCondition<Parent>) => boolean>>
>;

/** Type of the guard's own condition, on a parent whose deletions are deferred. Absent: none is deferred. */
export const GUARDED = "Guarded";

/** Rules for the other fields of a status. */
export interface StatusRules<Parent> {
  /** The types of the hook's own conditions. All others must stay as observed. */
  conditionTypes: readonly string[];
  /** The hook keeps the conditions of other writers, so that none may disappear. @default it drops them */
  keepsOthers?: true;
  /** Conditions of other objects that the hook copies, with their transition times. @default none */
  copied?(observed: Observed<Parent>): readonly Condition[];
  /**
   * Tells whether a field may have this value; undefined: the field is absent. A field that is not listed must be as
   * observed, or absent.
   *
   * @param status the whole status of the answer
   * @param desired the children in the answer
   */
  fields: Readonly<
    Record<
      string,
      (
        value: unknown,
        observed: Observed<Parent>,
        now: Date,
        status: Json,
        desired: readonly DesiredObject[],
      ) => boolean
    >
  >;
}

/**
 * Looks for conditions and fields of a status that the observed objects do not confirm.
 *
 * @param status of the answer, of any shape; undefined, null: the status stays as it is
 * @param rules absent: fields may have any value, and conditions any type and time
 * @param desired the children in the answer
 */
export function guardStatus<Parent>(
  observed: Observed<Parent>,
  status: unknown,
  now: Date,
  evidence: StatusInvariants<Parent>,
  rules?: StatusRules<Parent>,
  desired: readonly DesiredObject[] = [],
): Refusal | undefined {
  if (status === undefined || status === null) return undefined;
  const before = conditionsOf(observed.parent);
  const after = conditionsOf({ status });
  const wrong = (words: string) =>
    refusal(`status.conditions would say "${words}", which nothing that is observed bears out`);
  for (const said of after) {
    // Other writers can write two conditions of the same type.
    const isOld = before.some((old) => isSame(said, old));
    const says: ConditionText[] = [`${said.type} ${said.status}`, `${said.type} ${said.status} ${said.reason}`];
    const unproven = says.find((words) => isUnproven(evidence, words, { said, observed, now, isOld }));
    if (unproven !== undefined) return wrong(unproven);
    // Because of one such condition, the API server refuses the whole status.
    if (rules?.conditionTypes.includes(said.type) && !conditionSchema.safeParse(said).success) {
      return refusal(`status.conditions would say ${said.type} in a form that the API server refuses`);
    }
    if (rules?.conditionTypes.includes(said.type) && !isTimely(said, before, rules.copied?.(observed) ?? [], now)) {
      return refusal(
        `status.conditions would say since when ${said.type} is so, which nothing that is observed bears out`,
      );
    }
    if (
      rules && !rules.conditionTypes.includes(said.type) &&
      !before.some((old) => sameJson(said, old) || sameJson(said, fitCondition(old)))
    ) {
      return refusal(`status.conditions would say ${said.type}, which this hook never does`);
    }
  }
  const gone = before.filter(({ type }) => !after.some((said) => said.type === type));
  for (const said of gone) {
    const words: ConditionText = `${said.type} Absent`;
    if (isUnproven(evidence, words, { said, observed, now, isOld: false })) return wrong(words);
    if (rules?.keepsOthers && !rules.conditionTypes.includes(said.type) && said.type !== GUARDED) {
      return refusal(`status.conditions would no longer say ${said.type}, which is not this hook's`);
    }
  }
  const field = rules && isObject(status) ? wrongField(rules, status, observed, now, desired) : undefined;
  return field === undefined ? undefined : refusal(`status.${field} would be what nothing that is observed bears out`);
}

/** The labels and annotations that a decorator's answer may write on its parent. All other keys must stay as they are. */
export interface ParentRules<Parent> {
  labels?: MapRules<Parent>;
  annotations?: MapRules<Parent>;
}

type MapRules<Parent> = Readonly<
  Record<string, (value: string | null, observed: Observed<Parent>, now: Date) => boolean>
>;

/** Looks for a label or annotation of the parent that an answer would change against the rules. */
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
  desired: readonly DesiredObject[],
): string | undefined {
  const old = (observed.parent as Partial<KubeObject>)["status"];
  const others = Object.keys(status).filter((field) => field !== "conditions" && !Object.hasOwn(fields, field));
  return Object.keys(fields).find((field) => !fields[field]?.(status[field], observed, now, status, desired)) ??
    others.find((field) =>
      status[field] !== undefined && !sameJson(status[field], isObject(old) ? old[field] : undefined)
    );
}

/**
 * Returns whether a transition time is right. It must be the time of the old condition with this status, or of the
 * copied condition; if the status is new, it must be in the present second. A time that changes at each call would make
 * each call a write, and a write of a claim causes the next call. Old times may have any value, even in the future,
 * because clocks differ.
 */
function isTimely(said: Condition, before: readonly Condition[], copied: readonly Condition[], now: Date): boolean {
  const { type, status, lastTransitionTime } = said;
  const isKept = [...before, ...copied].some((old) =>
    old.type === type && old.status === status && old.lastTransitionTime === lastTransitionTime
  );
  // If another writer has written two conditions of the type, the first counts.
  return isKept || (findCondition(before, type)?.status !== status && isThisSecond(lastTransitionTime, now));
}

function isThisSecond(time: string, now: Date): boolean {
  const age = now.getTime() - Date.parse(time);
  return age >= 0 && age < 1000;
}

function isUnproven<Parent>(
  evidence: StatusInvariants<Parent>,
  words: ConditionText,
  saying: ReportedCondition<Parent>,
): boolean {
  return Object.hasOwn(evidence, words) && evidence[words]?.(saying) === false;
}

function refusal(message: string): Refusal {
  return { message, children: [] };
}

/** Tells whether two conditions have the same content and the same transition time. */
export function isSame(a: Condition, b: Condition): boolean {
  return a.type === b.type && a.status === b.status && a.reason === b.reason &&
    a.lastTransitionTime === b.lastTransitionTime;
}

/** Lists the conditions in an object's status. */
export function conditionsOf(object: unknown): Condition[] {
  const { status } = object as Partial<KubeObject> & { status?: unknown };
  const conditions = isObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions as Condition[] : [];
}
