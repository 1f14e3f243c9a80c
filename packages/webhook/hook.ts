/** A hook as a value, and how one call of it goes: parse, decide, guard, check. No HTTP, no I/O. @module */
import { parseExactly } from "../api/objects/exactjson.ts";
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
  /** When a child may go, by the words that `deletions` names. `any`: the guard believes whatever words. */
  deletionReasons: DeletionReasons<Parent> | "any";
  /** How answers may create and change children, by kind. The guard refuses all else. `any`: the guard does not check. */
  childRules: ChildRules<Parent> | "any";
  /** What must be observed where the status says something that others act on; absent: it may say whatever it does. */
  evidence?: Evidence<Parent>;
  /** The other fields and conditions that a status may have; absent: any. */
  statusRules?: StatusRules<Parent>;
  /** Which related objects the sync hook wants to see; absent means none. */
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

/** A sync request as it was sent, of which nothing is certain. */
export interface SentRequest {
  parent?: { metadata?: Partial<ObjectMeta> };
  /** Objects by name, by kind. */
  children?: Record<string, Record<string, unknown>>;
}

/** What a call comes to: an answer, with what it takes away and what it keeps for now, or why there is none. */
export type Outcome = { answer: object; losses: Loss[]; held: Loss[] } | { refusal: Refusal };

/** One call of a hook, prepared: takes the parsed JSON body, gives the answer's JSON value or why it must not be sent. */
export interface HookCalls {
  name: string;
  /** Decides, and guards. @param budget of what answers take away; without one everything may go */
  sync(body: unknown, now: Date, budget?: LossBudget): Outcome;
  /** Names what a parent wants to see beside its children; absent: nothing. */
  customize?(body: unknown): object;
  /** Which calls this one keeps its distance from before it is answered; absent, undefined: none. */
  spacing?(request: SentRequest): Spacing | undefined;
  /** How long the answer waits, so that what is about to happen is answered together; absent: not at all. */
  delayMs?(request: SentRequest): number;
}

/**
 * Prepares a composite hook's calls.
 *
 * @throws {z.ZodError} from `sync` and `customize` if the body is not a request; {@link AnswerError} if the hook's own
 * answer breaks the protocol
 */
export function compositeCalls<Parent, Status extends object>(hook: CompositeHook<Parent, Status>): HookCalls {
  return callsOf(hook, {
    request: compositeRequestSchema(hook.parentSchema),
    answer: compositeAnswerSchema,
    childrenOf: ({ children }) => children,
    withChildren: (desired, children) => ({ ...desired, children }),
  });
}

/** Prepares a decorator hook's calls; see {@link compositeCalls}. */
export function decoratorCalls<Parent, Status extends object>(hook: DecoratorHook<Parent, Status>): HookCalls {
  return callsOf(hook, {
    request: decoratorRequestSchema(hook.parentSchema),
    answer: decoratorAnswerSchema,
    childrenOf: ({ attachments }) => attachments,
    withChildren: (desired, attachments) => ({ ...desired, attachments }),
  });
}

/** How the two kinds of controllers differ. */
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
      // Every parent is an object of Kubernetes.
      const parent = observed.parent as KubeObject;
      const held = heldOf(losses, parent, now, budget);
      const kept = held.length > 0 ? wire.withChildren(desired, keeping(children, held)) : desired;
      const { deletions: _, ...answer } = announced(kept, parent, held, now);
      return { answer: checked(wire.answer, answer), losses, held };
    },
  };
}

/** A hook's answer that breaks the protocol: a bug of the hook, so nothing is sent. */
export class AnswerError extends Error {
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

/** Lists where and how a value failed its schema, as `parent.spec.replicas: invalid_type`: paths, never values. */
export function issuePaths(error: z.ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.code}`);
}
