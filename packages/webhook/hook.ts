/** Defines a hook, and the steps of one call: parse, decide, guard, check. @module */
import { parseExactly } from "../api/objects/json.ts";
import * as z from "zod";
import { type ChildRules, unexpectedStrategy } from "./childrules.ts";
import { type Evidence, guardParent, guardStatus, type ParentRules, type StatusRules } from "./statusrules.ts";
import { type DeletionReasons, guardAnswer, guardResync, type Loss, type Refusal } from "./guard.ts";
import { announced, heldOf, keeping } from "./throttledanswer.ts";
import { type LossBudget, UNLIMITED } from "./lossbudget.ts";
import {
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
import type { DesiredObject, KubeObject, ObjectMeta } from "../api/objects/objects.ts";
import type { Spacing } from "./throttle.ts";

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
  evidence?: Evidence<Parent>;
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
export interface CompositeHook<Parent, Status> extends HookBasics<Parent> {
  type: "composite";
  sync(observed: Observed<Parent>, now: Date): Desired<Status>;
}

/** The function behind a DecoratorController. */
export interface DecoratorHook<Parent, Status> extends HookBasics<Parent> {
  type: "decorator";
  /** The labels and annotations that answers may write on the parent; absent: any. */
  parentRules?: ParentRules<Parent>;
  sync(observed: Observed<Parent>, now: Date): Decorated<Status>;
}

/** A sync request as received: nothing is validated yet. */
export interface SentRequest {
  parent?: { metadata?: Partial<ObjectMeta> };
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
      const held = heldOf(losses, parent, now, budget);
      const kept = held.length > 0 ? wire.withChildren(desired, keeping(children, held)) : desired;
      const { deletions: _, ...answer } = announced(kept, parent, held, now);
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
