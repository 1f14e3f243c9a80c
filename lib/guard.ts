/** The last look at an answer before it leaves: what would it delete, and does the hook say why? Pure. @module */
import { childKey, kindKey, listAll, type ObjectMap } from "./metacontroller.ts";
import type { DesiredObject } from "./objects.ts";

/** Why an answer is not sent. `children` are keys such as `Pod/demo`; no values of the objects. */
export interface Refusal {
  message: string;
  children: string[];
}

/** Share of the observed children that an answer may delete without a reason, where nobody says another. */
export const MAX_UNEXPLAINED_DELETIONS = 0.1;

/** Kinds that hold users' data: never deleted without a reason, however few they are. */
const PRECIOUS_KINDS = new Set(["PersistentVolumeClaim"]);

/**
 * Returns why the answer must not be sent, `undefined` if it may.
 *
 * | left out of the answer, still alive, no reason named | verdict |
 * |---|---|
 * | a PersistentVolumeClaim | refused |
 * | more than `share` (0 to 1) of all observed children | refused |
 * | anything less | passes |
 *
 * @throws {RangeError} if a desired child is of a kind without a child rule (Metacontroller would create it again and
 * again), or if two have the same kind and name (the last would win)
 */
export function guardAnswer(
  observed: ObjectMap,
  desired: readonly DesiredObject[],
  reasons: Readonly<Record<string, string>>,
  share: number,
): Refusal | undefined {
  const wanted = wantedKeys(observed, desired);
  const living = listAll(observed).filter((child) => child.metadata.deletionTimestamp === undefined);
  const unexplained = living.filter((child) => !wanted.has(identity(child)) && !reasons[childKey(child)]);
  const precious = unexplained.filter((child) => PRECIOUS_KINDS.has(child.kind));
  if (precious.length > 0) return refusal("a volume would be deleted without a reason", precious);
  if (unexplained.length > share * living.length) {
    return refusal(`${unexplained.length} of ${living.length} children would be deleted without a reason`, unexplained);
  }
  return undefined;
}

function wantedKeys(observed: ObjectMap, desired: readonly DesiredObject[]): Set<string> {
  const wanted = new Set<string>();
  for (const child of desired) {
    if (!observed[kindKey(child)]) {
      throw new RangeError(`Cannot answer with a ${kindKey(child)}: the controller has no rule for it`);
    }
    if (wanted.has(identity(child))) throw new RangeError(`Cannot answer with two children ${childKey(child)}`);
    wanted.add(identity(child));
  }
  return wanted;
}

function identity(object: { apiVersion: string; kind: string; metadata: { name: string } }): string {
  return `${kindKey(object)}/${object.metadata.name}`;
}

function refusal(message: string, children: readonly { kind: string; metadata: { name: string } }[]): Refusal {
  return { message, children: children.map(childKey) };
}
