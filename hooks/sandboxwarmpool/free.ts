/** The members that claims can have, each of them once. @module */
import type { Sandbox } from "../../api/sandbox.ts";
import { isHandable } from "./applied.ts";
import { blueprintHash, isStale } from "./blueprint.ts";
import { memberState } from "./memberstate.ts";
import type { View } from "./view.ts";

/** Members that nobody has taken yet; what a call returns is taken. */
export interface FreeMembers {
  /** Takes the oldest Ready one, else the oldest that runs; undefined: there is none. */
  next(): Sandbox | undefined;
  /** Takes this one; undefined: somebody has it, or no claim can have it any more. */
  take(sandbox: Sandbox): Sandbox | undefined;
  /** Counts on one that has no address yet; false: all are counted on. */
  awaits(): boolean;
}

/**
 * Collects the members that claims can have: under Recreate only those that are like the template.
 *
 * @param isPromised tells which are for one claim alone: `next` passes them over
 */
export function freeMembers(view: View, isPromised: (member: Sandbox) => boolean): FreeMembers {
  const { ready = [], starting = [], coming = [] } = Object.groupBy(fittingMembers(view), memberState);
  const from = (list: Sandbox[], isWanted: (member: Sandbox) => boolean) => {
    const index = list.findIndex((member) => isWanted(member) && isHandable(member));
    return index < 0 ? undefined : list.splice(index, 1)[0];
  };
  const first = (isWanted: (member: Sandbox) => boolean) => from(ready, isWanted) ?? from(starting, isWanted);
  return {
    next: () => first((member) => !isPromised(member)),
    take: (sandbox) => first((member) => member === sandbox),
    awaits: () => coming.shift() !== undefined,
  };
}

function fittingMembers({ pool, template, members }: View): Sandbox[] {
  if (pool.spec.updateStrategy?.type !== "Recreate") return members;
  if (!template) return [];
  const hash = blueprintHash(template);
  return members.filter((member) => !isStale(member, template, hash));
}
