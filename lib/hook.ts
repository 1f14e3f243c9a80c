/** A hook as a value, and how one call of it goes: parse, decide, guard, check. No HTTP, no I/O. @module */
import * as z from "zod";
import { guardAnswer, type Refusal } from "./guard.ts";
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
import type { DesiredObject, ObjectMeta } from "./objects.ts";
import type { Spacing } from "./pace.ts";

interface HookBasics<Parent> {
  /** Name of the controller and of the hook's folder: `sandbox`. */
  name: string;
  parentSchema: z.ZodType<Parent>;
  /** Which related objects the sync hook wants to see; absent means none. */
  customize?(parent: Parent): RelatedRule[];
  /** See {@link HookCalls.spacing}. */
  spacing?(request: SentRequest): Spacing | undefined;
}

/** The function behind a CompositeController. */
export interface CompositeHook<Parent, Status> extends HookBasics<Parent> {
  type: "composite";
  sync(observed: Observed<Parent>, now: Date): Desired<Status>;
}

/** The function behind a DecoratorController. */
export interface DecoratorHook<Parent, Status> extends HookBasics<Parent> {
  type: "decorator";
  sync(observed: Observed<Parent>, now: Date): Decorated<Status>;
}

/** A sync request as it was sent, of which nothing is certain. */
export interface SentRequest {
  parent?: { metadata?: Partial<ObjectMeta> };
  /** Objects by name, by kind. */
  children?: Record<string, Record<string, unknown>>;
}

/** One call of a hook, prepared: takes the parsed JSON body, gives the answer's JSON value or why it must not be sent. */
export interface HookCalls {
  name: string;
  /** Decides. `share` is the part of the observed children, 0 to 1, that may go without a reason. */
  sync(body: unknown, now: Date, share: number): { answer: object } | { refusal: Refusal };
  /** Names what a parent wants to see beside its children; absent: nothing. */
  customize?(body: unknown): object;
  /** Which calls this one keeps its distance from before it is answered; absent, undefined: none. */
  spacing?(request: SentRequest): Spacing | undefined;
}

/**
 * Prepares a composite hook's calls.
 *
 * @throws {z.ZodError} from `sync` and `customize` if the body is not a request; {@link AnswerError} if the hook's own
 * answer breaks the protocol
 */
export function compositeCalls<Parent, Status extends object>(hook: CompositeHook<Parent, Status>): HookCalls {
  return callsOf(hook, compositeRequestSchema(hook.parentSchema), compositeAnswerSchema, ({ children }) => children);
}

/** Prepares a decorator hook's calls; see {@link compositeCalls}. */
export function decoratorCalls<Parent, Status extends object>(hook: DecoratorHook<Parent, Status>): HookCalls {
  const attachmentsOf = ({ attachments }: Decorated<Status>) => attachments;
  return callsOf(hook, decoratorRequestSchema(hook.parentSchema), decoratorAnswerSchema, attachmentsOf);
}

function callsOf<Parent, Answer extends { deletions?: Readonly<Record<string, string>> }>(
  hook: HookBasics<Parent> & { sync(observed: Observed<Parent>, now: Date): Answer },
  requestSchema: z.ZodType<Observed<Parent>>,
  answerSchema: z.ZodType,
  childrenOf: (answer: Answer) => DesiredObject[],
): HookCalls {
  return {
    ...basics(hook),
    sync: (body, now, share) => {
      const observed = requestSchema.parse(body);
      const desired = hook.sync(observed, now);
      const { deletions, ...answer } = desired;
      const refusal = guardAnswer(observed.children, childrenOf(desired), deletions ?? {}, share);
      return refusal ? { refusal } : { answer: checked(answerSchema, answer) };
    },
  };
}

/** A hook's answer that breaks the protocol: a bug of the hook, so nothing is sent. */
export class AnswerError extends Error {
  override name = "AnswerError";
}

function basics<Parent>(hook: HookBasics<Parent>): Omit<HookCalls, "sync"> {
  const { name: own, customize, spacing } = hook;
  const name = { name: own, ...(spacing ? { spacing } : {}) };
  if (!customize) return name;
  const requestSchema = customizeRequestSchema(hook.parentSchema);
  return {
    ...name,
    customize: (body) => {
      const relatedResources = customize(requestSchema.parse(body).parent);
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
