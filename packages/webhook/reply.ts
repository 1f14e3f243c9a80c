/** Computes the reply to one request of a hook: status, body, and what to log about it. @module */
import { parseJson } from "../api/objects/json.ts";
import * as z from "zod";
import type { Loss, Refusal } from "./guard.ts";
import { type HookCalls, issuePaths } from "./hook.ts";
import { errorFields } from "../process/log.ts";
import type { LossBudget } from "../process/deletionbudget.ts";

/** The calls that a hook answers. */
export type Endpoint = "sync" | "customize";

/** The reply to a request, with the details for logs and metrics. */
export interface Reply {
  status: 200 | 400 | 429 | 500;
  /** The body: JSON. */
  text: string;
  /** The request's JSON value; undefined: the request was not JSON, and the hook was not called. */
  request: unknown;
  /** Why the guard refused the hook's answer, if the status is 429. */
  refusal?: Refusal;
  /** The losses that the answer would cause, and those of them that are deferred; only for `sync` with status 200. */
  losses?: Loss[];
  held?: Loss[];
  /** Fields for the log, if the status is 400 or 500. */
  cause?: Record<string, unknown>;
}

/**
 * Calls the hook. Never throws.
 *
 * | status | when |
 * |---|---|
 * | 200 | the answer passed all checks |
 * | 400 | the body is not a valid request: `{error, issues}` names paths, never values |
 * | 429 | the guard refused the answer |
 * | 500 | the hook threw an error, or its answer violates the protocol: `{error}` names only the class of the error |
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

/** The body is not JSON. The parser's own message is not used, because it quotes the body. */
class BodyError extends Error {
  override name = "BodyError";
}

/** A request's body as JSON value, or why it is not JSON. */
export type Body = { request: unknown; error?: Error };

/** Parses a body; never throws. */
export function readBody(text: string): Body {
  try {
    return { request: parseJson(text) };
  } catch {
    return { request: undefined, error: new BodyError("Cannot parse the body: it is not JSON") };
  }
}

/** Returns the reply to an error. A bad request is the caller's fault, so its stack is not logged. */
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
