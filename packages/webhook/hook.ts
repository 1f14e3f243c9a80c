/**
 * Defines a hook, and the steps of one call: parse, decide, guard, defer deletions that exceed the budget, check.
 * @module
 */
import * as z from "zod";
import { findCondition, stamp } from "../api/objects/conditions.ts";
import { isObject, parseExactly } from "../api/objects/json.ts";
import { LOSSES_ALLOWED_ANNOTATION } from "../api/objects/keys.ts";
import type { DesiredObject, KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import { DEFERRED_RETRY_SECONDS, type LossBudget, UNLIMITED } from "../process/deletionbudget.ts";
import { type ChildRules, unexpectedStrategy } from "./childrules.ts";
import { type DeletionReasons, guardAnswer, guardResync, identity, type Loss, type Refusal } from "./guard.ts";
import {
  childKey,
  compositeAnswerSchema,
  compositeRequestSchema,
  customizeAnswerSchema,
  customizeRequestSchema,
  type Decorated,
  decoratorAnswerSchema,
  decoratorRequestSchema,
  type Desired,
  type Observed,
  type RelatedRule,
} from "./metacontroller.ts";
import {
  conditionsOf,
  GUARDED,
  guardParent,
  guardStatus,
  type ParentRules,
  type StatusInvariants,
  type StatusRules,
} from "./statusrules.ts";
import type { Spacing } from "./throttle.ts";
import { unchanged } from "./unchanged.ts";

interface HookBasics<Parent> {
  /** Name of the controller and of the hook's folder: `sandbox`. */
  name: string;
  parentSchema: z.ZodType<Parent>;
  /** When a child may be deleted, by the reasons that `deletions` names. `any`: the guard accepts every reason. */
  deletionReasons: DeletionReasons<Parent> | "any";
  /**
   * How answers may create and change children, by kind. The guard refuses everything else. `any`: the guard does not
   * check.
   */
  childRules: ChildRules<Parent> | "any";
  /** What must be observed if the status has a condition on which others act; absent: all conditions are allowed. */
  evidence?: StatusInvariants<Parent>;
  /** Which other fields and conditions a status may have; absent: any. */
  statusRules?: StatusRules<Parent>;
  /** Which related objects the sync hook needs; absent: none. */
  customize?(parent: Parent): RelatedRule[];
  /** See {@link HookCalls.spacing}. */
  spacing?(request: SentRequest): Spacing | undefined;
  /** See {@link HookCalls.delayMs}. */
  delayMs?(request: SentRequest): number;
}

/** The function behind a CompositeController. */
interface CompositeHook<Parent, Status> extends HookBasics<Parent> {
  type: "composite";
  sync(observed: Observed<Parent>, now: Date): Desired<Status>;
}

/** The function behind a DecoratorController. */
interface DecoratorHook<Parent, Status> extends HookBasics<Parent> {
  type: "decorator";
  /** The labels and annotations that answers may write on the parent; absent: any. */
  parentRules?: ParentRules<Parent>;
  sync(observed: Observed<Parent>, now: Date): Decorated<Status>;
}

/** A sync request as received: nothing is validated yet. */
export interface SentRequest {
  parent?: { metadata?: Partial<ObjectMeta>; status?: Record<string, unknown> };
  /** Objects by kind, then by name. */
  children?: Record<string, Record<string, unknown>>;
}

/** The result of a call: the answer with its losses and its deferred losses, or the reason why no answer is sent. */
export type Outcome = { answer: object; losses: Loss[]; held: Loss[] } | { refusal: Refusal };

/** The calls of a hook. They take the parsed JSON body, and return the JSON value of the answer, or why it must not be sent. */
export interface HookCalls {
  name: string;
  /** Decides and guards. @param budget limits the losses; absent: no limit */
  sync(body: unknown, now: Date, budget?: LossBudget): Outcome;
  /** Returns which objects besides its children a parent needs; absent: none. */
  customize?(body: unknown): object;
  /** Returns the minimum interval to earlier calls with the same key; absent or undefined: none. */
  spacing?(request: SentRequest): Spacing | undefined;
  /**
   * Returns how long to delay the answer, in milliseconds, so that it covers changes that will follow soon; absent: not
   * at all.
   */
  delayMs?(request: SentRequest): number;
}

/**
 * Creates the calls of a composite hook.
 *
 * @throws {z.ZodError} from `sync` and `customize` if the body is not a valid request; {@link AnswerError} if the
 *   hook's own answer violates the protocol
 */
export function compositeCalls<Parent, Status extends object>(hook: CompositeHook<Parent, Status>): HookCalls {
  return callsOf(hook, {
    request: compositeRequestSchema(hook.parentSchema),
    answer: compositeAnswerSchema,
    childrenOf: ({ children }) => children,
    withChildren: (desired, children) => ({ ...desired, children }),
  });
}

/** Creates the calls of a decorator hook; see {@link compositeCalls}. */
export function decoratorCalls<Parent, Status extends object>(hook: DecoratorHook<Parent, Status>): HookCalls {
  return callsOf(hook, {
    request: decoratorRequestSchema(hook.parentSchema),
    answer: decoratorAnswerSchema,
    childrenOf: ({ attachments }) => attachments,
    withChildren: (desired, attachments) => ({ ...desired, attachments }),
  });
}

/** The differences between the two kinds of controllers. */
interface Wire<Parent, Answer> {
  request: z.ZodType<Observed<Parent>>;
  answer: z.ZodType;
  childrenOf(answer: Answer): DesiredObject[];
  withChildren(answer: Answer, children: DesiredObject[]): Answer;
}

function callsOf<Parent, Answer extends Partial<Omit<Desired<unknown>, "children">>>(
  hook: HookBasics<Parent> & {
    parentRules?: ParentRules<Parent>;
    sync(observed: Observed<Parent>, now: Date): Answer;
  },
  wire: Wire<Parent, Answer>,
): HookCalls {
  return {
    ...basics(hook),
    sync: (body, now, budget = UNLIMITED) => {
      const observed = parseExactly(wire.request, body);
      const rules = hook.childRules ?? {};
      const unexpected = rules === "any" ? undefined : unexpectedStrategy(body, rules);
      if (unexpected !== undefined) return { refusal: { message: unexpected, children: [] } };
      const desired = hook.sync(observed, now);
      const children = wire.childrenOf(desired);
      const verdict = guardAnswer(observed, children, desired.deletions ?? {}, now, hook.deletionReasons, rules);
      if ("refusal" in verdict) return verdict;
      const wrong = guardStatus(observed, desired.status, now, hook.evidence ?? {}, hook.statusRules, children) ??
        (hook.parentRules && guardParent(observed, desired, now, hook.parentRules)) ??
        guardResync(desired.resyncAfterSeconds);
      if (wrong) return { refusal: wrong };
      const { losses } = verdict;
      // Every parent is a Kubernetes object.
      const parent = observed.parent as KubeObject;
      const held = deferredOf(losses, parent, now, budget);
      const kept = held.length > 0 ? wire.withChildren(desired, withDeferredChildren(children, held)) : desired;
      const { deletions: _, ...answer } = reportingDeferred(kept, parent, held, now);
      return { answer: checked(wire.answer, answer), losses, held };
    },
  };
}

/** A hook's answer violates the protocol. This is a bug of the hook, so nothing is sent. */
class AnswerError extends Error {
  override name = "AnswerError";
}

function basics<Parent>(hook: HookBasics<Parent>): Omit<HookCalls, "sync"> {
  const { name, customize, spacing, delayMs } = hook;
  const pace = { ...(spacing ? { spacing } : {}), ...(delayMs ? { delayMs } : {}) };
  if (!customize) return { name, ...pace };
  const requestSchema = customizeRequestSchema(hook.parentSchema);
  return {
    name,
    ...pace,
    customize: (body) => {
      const relatedResources = customize(parseExactly(requestSchema, body).parent);
      return checked(customizeAnswerSchema, { relatedResources });
    },
  };
}

function checked(schema: z.ZodType, answer: object): object {
  const { success, error } = schema.safeParse(answer);
  if (!success) throw new AnswerError(`Cannot send the answer: ${issuePaths(error).join(", ")}`);
  return answer;
}

/** Lists where and why a value failed its schema, such as `parent.spec.replicas: invalid_type`. Names paths, never values. */
export function issuePaths(error: z.ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.code}`);
}

const MOST_NAMED = 3;

/**
 * Returns the losses that are deferred: those for which the budget has no room. None is deferred if an annotation of
 * the parent allows losses.
 */
function deferredOf(losses: readonly Loss[], parent: KubeObject, now: Date, budget: LossBudget): Loss[] {
  if (losses.length === 0 || allowsLosses(parent, now)) return [];
  const uidOf = ({ child }: Loss) => child.metadata.uid ?? childKey(child);
  const staying = budget.spend(parent.metadata.namespace ?? "", [...new Set(losses.map(uidOf))]);
  return losses.filter((loss) => staying.has(uidOf(loss)));
}

function allowsLosses({ metadata }: KubeObject, now: Date): boolean {
  return Date.parse(metadata.annotations?.[LOSSES_ALLOWED_ANNOTATION] ?? "") > now.getTime();
}

/** Returns the children of an answer, where those that must stay are as they are. */
function withDeferredChildren(desired: readonly DesiredObject[], held: readonly Loss[]): DesiredObject[] {
  const staying = new Map(held.map(({ child }) => [identity(child), child]));
  return [...desired.filter((child) => !staying.has(identity(child))), ...[...staying.values()].map(unchanged)];
}

/**
 * Returns an answer whose status reports the deferred losses, and which asks for another call soon. If there are none,
 * the status no longer reports any. A parent without a status gets none.
 */
function reportingDeferred<Answer extends Partial<Pick<Desired<unknown>, "status" | "resyncAfterSeconds">>>(
  answer: Answer,
  parent: KubeObject,
  held: readonly Loss[],
  now: Date,
): Answer {
  const old = conditionsOf(parent);
  if (held.length === 0 && !findCondition(old, GUARDED)) return answer;
  const status = answer.status ?? parent["status"];
  if (!isObject(status)) return answer;
  const others = conditionsOf({ status }).filter(({ type }) => type !== GUARDED);
  if (held.length === 0) return { ...answer, status: { ...status, conditions: others } };
  const verdict = { type: GUARDED, status: "True", reason: "TooManyLosses", message: messageFor(held) } as const;
  return {
    ...answer,
    status: { ...status, conditions: [...others, stamp(verdict, old, parent.metadata.generation, now)] },
    resyncAfterSeconds: Math.min(answer.resyncAfterSeconds ?? DEFERRED_RETRY_SECONDS, DEFERRED_RETRY_SECONDS),
  };
}

function messageFor(held: readonly Loss[]): string {
  const names = held.slice(0, MOST_NAMED).map(({ child, what }) => `${childKey(child)} (would be ${what})`).join(", ");
  const more = held.length > MOST_NAMED ? ` and ${held.length - MOST_NAMED} more` : "";
  return `Deletion delayed by --max-losses-per-minute: ${names}${more}. ` +
    `To delete now, set annotation ${LOSSES_ALLOWED_ANNOTATION} to a time in the future`;
}
