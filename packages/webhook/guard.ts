/**
 * Checks an answer before it is sent: which children it would delete or change, and whether the observed objects
 * confirm the reasons.
 * @module
 */
import { DRAINING_LABEL } from "../api/objects/keys.ts";
import { isObject, type Json } from "../api/objects/json.ts";
import { type ChildRules, type Violation, violationsOf } from "./childrules.ts";
import {
  childKey,
  kindKey,
  listAll,
  LONGEST_RESYNC_SECONDS,
  type Observed,
  SHORTEST_RESYNC_SECONDS,
} from "./metacontroller.ts";
import type { DesiredObject, KubeObject } from "../api/objects/objects.ts";

/** Why an answer is not sent. `children` are keys such as `Pod/demo`; no values of the objects. */
export interface Refusal {
  message: string;
  children: string[];
}

/**
 * When children may be deleted for one reason. The reason is named in `deletions`, or is the value of a draining label.
 * The rule examines the request with code that is independent of the hook's decision, because a named reason proves
 * nothing.
 */
export interface DeletionReason<Parent> {
  holds(child: KubeObject, observed: Observed<Parent>, now: Date): boolean;
  /**
   * How many children may be deleted for this reason without counting as losses, because the parent's spec asks for it.
   * @default none
   */
  stated?(observed: Observed<Parent>): number;
}

/** All reasons of a hook, by their names. */
export type DeletionReasons<Parent> = Readonly<Record<string, DeletionReason<Parent>>>;

/** A child that an answer would delete or end. */
export interface Loss {
  child: KubeObject;
  /** What happens to the child, as a word for people. */
  what: "deleted" | "drained" | "suspended" | "expiring";
}

/** The result of the check: a refusal, or the losses that the answer would cause. */
export type GuardResult = { refusal: Refusal } | { losses: Loss[] };

/**
 * Checks an answer. `any`: every text is a valid reason, and children may change in any way.
 *
 * | effect of the answer | verdict |
 * |---|---|
 * | changes a child in a field that the hook's rules do not list, or to a value that they do not allow | refused |
 * | creates a child that differs from what its parent asks for, or too many children | refused |
 * | leaves out a live child without a reason, or for a reason that the observed objects do not confirm | refused |
 * | leaves it out for a confirmed reason | a loss; none if the parent's spec asks for it, or if the child was marked as draining |
 * | marks it as draining | the same |
 * | suspends it, lets it expire or expire sooner, or be deleted when it expires | a loss, if the rules allow it at all |
 *
 * @param rules absent: no child may be changed or created
 * @throws {RangeError} if a desired child is of a kind without a child rule (Metacontroller would create it again and
 *   again), if one is in another namespace than its parent, or if two have the same kind and name (the last would win)
 */
export function guardAnswer<Parent>(
  observed: Observed<Parent>,
  desired: readonly DesiredObject[],
  deletions: Readonly<Record<string, string>>,
  now: Date,
  reasons: DeletionReasons<Parent> | "any",
  rules: ChildRules<Parent> | "any" = {},
): GuardResult {
  const known = reasons === "any" ? undefined : reasons;
  const wanted = wantedChildren(observed, desired);
  const all = listAll(observed.children);
  const living = all.filter((child) => child.metadata.deletionTimestamp === undefined);
  const reasonOf = (child: KubeObject) => deletions[childKey(child)] ?? "";
  const holds = (child: KubeObject) => !known || known[reasonOf(child)]?.holds(child, observed, now) === true;
  const left = living.filter((child) => !wanted.has(identity(child)));
  const unexplained = left.filter((child) => reasonOf(child) === "" || !holds(child));
  if (unexplained.length > 0) {
    return refusal(`${unexplained.length} of ${living.length} children would be deleted without a reason`, unexplained);
  }
  const kept = living.flatMap((child) => {
    const after = wanted.get(identity(child));
    return after ? [{ child, after }] : [];
  });
  if (rules !== "any") {
    const byIdentity = new Map(all.map((child) => [identity(child), child]));
    const asked = desired.map((child) => ({ desired: child, child: byIdentity.get(identity(child)) }));
    const { changed, made } = violationsOf(asked, observed, rules, now);
    if (changed.length > 0) {
      return refusal(
        `${changed.length} of ${byIdentity.size} children would be changed where they must not (${fieldsOf(changed)})`,
        changed.map(({ child }) => child),
      );
    }
    if (made.length > 0) {
      return refusal(
        `${made.length} new ${
          made.length === 1 ? "child is not what its" : "children are not what their"
        } parent asks for (${fieldsOf(made)})`,
        made.map(({ child }) => child),
      );
    }
  }
  const ending = kept.flatMap((each) => {
    const what = endOf(each);
    return what ? [loss(each.child, what)] : [];
  });
  const free = new Map<string, number>();
  const isFree = (words: string) => {
    const count = free.get(words) ?? known?.[words]?.stated?.(observed) ?? 0;
    free.set(words, count - 1);
    return count > 0;
  };
  return {
    losses: [
      ...left.filter((child) => !isMarked(child) && !isFree(reasonOf(child))).map((child) => loss(child, "deleted")),
      ...kept.flatMap(({ child, after }) => {
        const mark = after.metadata.labels?.[DRAINING_LABEL];
        const isNew = mark !== undefined && !isMarked(child);
        return isNew && !isFree(mark) ? [loss(child, "drained")] : [];
      }),
      ...ending,
    ],
  };
}

/** A child as observed, and as in the answer. */
interface Kept {
  child: KubeObject;
  after: DesiredObject;
}

/**
 * Returns how an answer ends a child: it suspends it, lets it expire or expire sooner, or be deleted when it expires.
 * Undefined: it does not end it.
 */
function endOf({ child, after }: Kept): "suspended" | "expiring" | undefined {
  const [is, will] = [specOf(child), specOf(after)];
  if (will["operatingMode"] === "Suspended" && is["operatingMode"] !== "Suspended") return "suspended";
  if (will["shutdownPolicy"] === "Delete" && is["shutdownPolicy"] !== "Delete") return "expiring";
  const [from, to] = [is["shutdownTime"], will["shutdownTime"]].map((time) => Date.parse(String(time ?? "")));
  return !Number.isNaN(to) && !(from! <= to!) ? "expiring" : undefined;
}

function specOf(object: object): Json {
  const { spec } = object as { spec?: unknown };
  return isObject(spec) ? spec : {};
}

/** Maximum number of fields and children that a refusal names. */
const MOST_FIELDS = 5;
const MOST_NAMED = 100;

function fieldsOf(violations: readonly Violation[]): string {
  const fields = [...new Set(violations.flatMap((violation) => violation.fields))];
  const more = fields.length > MOST_FIELDS ? ` and ${fields.length - MOST_FIELDS} more` : "";
  return fields.slice(0, MOST_FIELDS).join(", ") + more;
}

function wantedChildren<Parent>(
  { parent, children }: Observed<Parent>,
  desired: readonly DesiredObject[],
): Map<string, DesiredObject> {
  const wanted = new Map<string, DesiredObject>();
  const home = (parent as Partial<KubeObject> | undefined)?.metadata?.namespace;
  for (const child of desired) {
    if (!children[kindKey(child)]) {
      throw new RangeError(`Cannot answer with a ${kindKey(child)}: the controller has no rule for it`);
    }
    const { namespace = home } = child.metadata;
    // Metacontroller would create it in that namespace, for which the writers of the parent may have no permissions.
    if (namespace !== home) throw new RangeError(`Cannot answer with ${childKey(child)}: it is of another namespace`);
    if (wanted.has(identity(child))) throw new RangeError(`Cannot answer with two children ${childKey(child)}`);
    wanted.set(identity(child), child);
  }
  return wanted;
}

function isMarked({ metadata }: KubeObject): boolean {
  return metadata.labels?.[DRAINING_LABEL] !== undefined;
}

function loss(child: KubeObject, what: Loss["what"]): Loss {
  return { child, what };
}

/** Returns a text that identifies a child: kind, API version and name. */
export function identity(object: { apiVersion: string; kind: string; metadata: { name: string } }): string {
  return `${kindKey(object)}/${object.metadata.name}`;
}

function refusal(message: string, children: readonly { kind: string; metadata: { name: string } }[]): GuardResult {
  return { refusal: { message, children: children.slice(0, MOST_NAMED).map(childKey) } };
}

/**
 * Checks the `resyncAfterSeconds` of an answer; undefined: there is none.
 *
 * | seconds | what Metacontroller 4.17.2 would do | verdict |
 * |---|---|---|
 * | 0, negative | ignore it: the next call never comes | refused |
 * | below {@link SHORTEST_RESYNC_SECONDS} | call the hook again at once, endlessly and without its rate limit for retries | refused |
 * | above {@link LONGEST_RESYNC_SECONDS}, infinite | the same, because its number overflows | refused |
 *
 * A refused answer is retried after 30 seconds, and children stay as they are. The guard does not correct the delay
 * instead, because then nobody would notice the bug in the hook.
 */
export function guardResync(seconds: number | undefined): Refusal | undefined {
  if (seconds === undefined) return undefined;
  if (seconds >= SHORTEST_RESYNC_SECONDS && seconds <= LONGEST_RESYNC_SECONDS) return undefined;
  return { message: `resyncAfterSeconds would be ${seconds}, which calls the hook without end or never`, children: [] };
}
