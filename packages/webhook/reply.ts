/** What one request of a hook comes to: status, body, and what the log should know of it. No HTTP, no clock. @module */
import { parseJson } from "../api/objects/exactjson.ts";
import * as z from "zod";
import type { Loss, Refusal } from "./guard.ts";
import { type HookCalls, issuePaths } from "./hook.ts";
import { errorFields } from "../process/log.ts";
import type { LossBudget } from "./lossbudget.ts";

/** The calls that a hook answers. */
export type Endpoint = "sync" | "customize";

/** An answer to a request, and where it came from. */
export interface Reply {
  status: 200 | 400 | 429 | 500;
  /** The body: JSON. */
  text: string;
  /** The request's JSON value; undefined: the request was no JSON, and the hook was not asked. */
  request: unknown;
  /** Why the guard held the hook's answer back, for status 429. */
  refusal?: Refusal;
  /** What the answer takes away, and what it keeps although the hook would not; status 200 of `sync`. */
  losses?: Loss[];
  held?: Loss[];
  /** Fields for the log, where the status is 400 or 500. */
  cause?: Record<string, unknown>;
}

/**
 * Asks the hook, and never throws.
 *
 * | status | when |
 * |---|---|
 * | 200 | the answer, checked |
 * | 400 | the body is no request: `{error, issues}` names paths, never values |
 * | 429 | the guard refused the answer |
 * | 500 | the hook threw, or its answer breaks the protocol: `{error}` names the class only |
 *
 * @param budget see {@link HookCalls.sync}
 */
export function replyOf(hook: HookCalls, endpoint: Endpoint, body: Body, now: Date, budget?: LossBudget): Reply {
  const { request } = body;
  try {
    if (body.error) throw body.error;
    if (endpoint === "customize") return { status: 200, text: JSON.stringify(customized(hook, request)), request };
    const outcome = hook.sync(request, now, budget);
    if ("answer" in outcome) {
      const { answer, losses, held } = outcome;
      return { status: 200, text: JSON.stringify(answer), request, losses, held };
    }
    const { refusal } = outcome;
    return { status: 429, text: JSON.stringify({ error: refusal.message }), request, refusal };
  } catch (error) {
    return { ...failureOf(error), request };
  }
}

function customized({ name, customize }: HookCalls, request: unknown): object {
  if (!customize) throw new RangeError(`Cannot customize: hook ${name} does not`);
  return customize(request);
}

/** Text that is no JSON. The parser's own message quotes the body, so it stays here. */
class BodyError extends Error {
  override name = "BodyError";
}

/** A request's body as JSON value, or why it is none. */
export type Body = { request: unknown; error?: Error };

/** Reads a body; never throws. */
export function readBody(text: string): Body {
  try {
    return { request: parseJson(text) };
  } catch {
    return { request: undefined, error: new BodyError("Cannot parse the body: it is not JSON") };
  }
}

/** A bad request needs no stack in the log: it is the caller's. */
function failureOf(error: unknown): Pick<Reply, "status" | "text"> & { cause: Record<string, unknown> } {
  if (error instanceof BodyError) {
    return { status: 400, text: JSON.stringify({ error: error.message }), cause: { error: error.message } };
  }
  if (error instanceof z.ZodError) {
    const issues = issuePaths(error);
    return { status: 400, text: JSON.stringify({ error: "Cannot read the request", issues }), cause: { issues } };
  }
  const name = error instanceof Error ? error.name : "unknown error";
  return {
    status: 500,
    text: JSON.stringify({ error: `Cannot answer: ${name}, see the hook's log` }),
    cause: errorFields(error),
  };
}
