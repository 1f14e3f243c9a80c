/** What a status may say: whoever reads it, a claim's hook or the keeper, deletes by it. Pure. @module */
import type { Condition, ConditionStatus } from "../api/objects/conditions.ts";
import { isObject } from "../api/objects/json.ts";
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

/** `Finished True` for any reason, `Ready False SandboxExpired` for one. */
type Words = `${string} ${ConditionStatus}` | `${string} ${ConditionStatus} ${string}`;

/**
 * What must be so where the status says these words; it may say whatever is not among them. It looks at the request by
 * another way than the decision did.
 */
export type Evidence<Parent> = Readonly<Partial<Record<Words, (saying: Saying<Parent>) => boolean>>>;

/** Looks for what a status says and nothing bears out. @param status of the answer, of whatever shape */
export function guardStatus<Parent>(
  observed: Observed<Parent>,
  status: unknown,
  now: Date,
  evidence: Evidence<Parent>,
): Refusal | undefined {
  const before = conditionsOf(observed.parent);
  for (const said of conditionsOf({ status })) {
    // Nothing keeps others from writing a type twice.
    const isOld = before.some((old) => isSame(said, old));
    const says: Words[] = [`${said.type} ${said.status}`, `${said.type} ${said.status} ${said.reason}`];
    const unproven = says.find((words) =>
      Object.hasOwn(evidence, words) && evidence[words]?.({ said, observed, now, isOld }) === false
    );
    if (unproven !== undefined) {
      const message = `status.conditions would say "${unproven}", which nothing that is observed bears out`;
      return { message, children: [] };
    }
  }
  return undefined;
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
