/** The errors of the API, as E2B's SDKs read them. @module */
import {
  AuthorizationError,
  ConflictError,
  InvalidArgumentError,
  NotFoundError,
  QuotaExceededError,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TemplateError,
  TimeoutError,
} from "../sdk/errors.ts";

/** The statuses that the API answers with instead of a result. */
export type ProblemStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 500 | 501 | 503;

/** An error for the client. The answer is `{"code": <status>, "message": …}`: SDKs decide by `code`. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: ProblemStatus;
  /** A word for programs; absent: `status` says enough. */
  readonly errorCode: string | undefined;

  constructor(status: ProblemStatus, message: string, errorCode?: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }
}

/** Returns the error for a sandbox that does not exist, or is another project's. */
export function noSandbox(id: string): Problem {
  return new Problem(404, `Sandbox "${id}" was not found`);
}

/** Converts an error of the SDK; undefined: the error is hookbox's own, and the client gets no more than status 500. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof SandboxError)) return undefined;
  const text = error.message;
  if (error instanceof QuotaExceededError || error instanceof RateLimitError) return new Problem(429, text);
  if (error instanceof InvalidArgumentError) return new Problem(400, text);
  // Kubernetes has not counted yet what a new quota allows.
  if (error instanceof AuthorizationError && text.includes("status unknown for quota")) return new Problem(503, text);
  if (error instanceof AuthorizationError) return new Problem(403, text);
  if (error instanceof SandboxNotFoundError || error instanceof NotFoundError) return new Problem(404, text);
  if (error instanceof TemplateError) return new Problem(400, text);
  if (error instanceof ConflictError) return new Problem(409, text);
  return new Problem(error instanceof TimeoutError ? 503 : 500, text);
}
