/** What the SDK throws: every error says what failed, why, of which object, and what to do. @module */
import type { ObjectRef } from "../api/diagnosis/finding.ts";

/** What kind of failure it is, for programs; the classes below are the same distinction for `instanceof`. */
export type ErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "CONFLICT"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "RATE_LIMITED"
  | "NO_SPACE"
  | "TIMEOUT"
  | "FAILED"
  | "COMMAND_FAILED"
  | "UNAVAILABLE"
  | "UNSUPPORTED"
  | "INTERNAL";

export type { ObjectRef };

/** What an error says beside its message. */
export interface ErrorDetails {
  /** Why, in one word: a reason of the API or of {@link https://kubernetes.io | Kubernetes}, such as `TemplateNotFound`. */
  reason?: string | undefined;
  /** The object that the cause lies in. */
  object?: ObjectRef | undefined;
  /** What to do about it, one sentence; it stands in the message, too. */
  remedy?: string | undefined;
  cause?: unknown;
}

/** Any failure of the SDK. An aborted call throws its signal's reason instead. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
  readonly code: ErrorCode = "INTERNAL";
  /** Why, in one word; undefined if nobody said. */
  readonly reason: string | undefined;
  /** The object that the cause lies in; undefined if it lies in none. */
  readonly object: ObjectRef | undefined;
  /** What to do about it; undefined if there is nothing to say. */
  readonly remedy: string | undefined;

  constructor(message: string, { reason, object, remedy, cause }: ErrorDetails = {}) {
    super(remedy === undefined ? message : `${message}. ${remedy}`, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.object = object;
    this.remedy = remedy;
  }
}

/** An argument makes no sense, or does not fit the others. Nothing was sent. */
export class InvalidArgumentError extends SandboxError {
  override readonly name: string = "InvalidArgumentError";
  override readonly code: ErrorCode = "INVALID_ARGUMENT";
}

/** What was asked for does not exist. */
export class NotFoundError extends SandboxError {
  override readonly name: string = "NotFoundError";
  override readonly code: ErrorCode = "NOT_FOUND";
}

/** There is no sandbox of that name. */
export class SandboxNotFoundError extends NotFoundError {
  override readonly name: string = "SandboxNotFoundError";
}

/** There is no file or folder at that path. */
export class FileNotFoundError extends NotFoundError {
  override readonly name: string = "FileNotFoundError";
}

/** Something else is there already, or has changed meanwhile. */
export class ConflictError extends SandboxError {
  override readonly name: string = "ConflictError";
  override readonly code: ErrorCode = "CONFLICT";
}

/** Nobody knows who asks: a token or certificate is missing or no longer good. */
export class AuthenticationError extends SandboxError {
  override readonly name: string = "AuthenticationError";
  override readonly code: ErrorCode = "UNAUTHENTICATED";
}

/** Who asks may not do that. */
export class AuthorizationError extends SandboxError {
  override readonly name: string = "AuthorizationError";
  override readonly code: ErrorCode = "PERMISSION_DENIED";
}

/** Too much was asked for at once; later it will do. */
export class RateLimitError extends SandboxError {
  override readonly name: string = "RateLimitError";
  override readonly code: ErrorCode = "RATE_LIMITED";
  /** How long to wait, in milliseconds; undefined if nobody said. */
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    { retryAfterMs, ...details }: ErrorDetails & { retryAfterMs?: number | undefined } = {},
  ) {
    super(message, details);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The sandbox's disk is full, or a file is larger than the runtime takes. */
export class NotEnoughSpaceError extends SandboxError {
  override readonly name: string = "NotEnoughSpaceError";
  override readonly code: ErrorCode = "NO_SPACE";
}

/** It took longer than the caller's limit. `reason` is what it waited for where that is known. */
export class TimeoutError extends SandboxError {
  override readonly name: string = "TimeoutError";
  override readonly code: ErrorCode = "TIMEOUT";
}

/** The sandbox cannot become Ready, however long one waits: `reason`, `object` and `remedy` are those of `why`. */
export class SandboxFailedError extends SandboxError {
  override readonly name: string = "SandboxFailedError";
  override readonly code: ErrorCode = "FAILED";
}

/** The pool or the template is missing, or refuses what was asked for. */
export class TemplateError extends SandboxFailedError {
  override readonly name: string = "TemplateError";
}

/** Nobody answers, or a connection broke. */
export class ConnectionError extends SandboxError {
  override readonly name: string = "ConnectionError";
  override readonly code: ErrorCode = "UNAVAILABLE";
  /** Whether the request can have arrived, so that what it asked for may have happened. */
  readonly mayHaveArrived: boolean;
  constructor(
    message: string,
    { mayHaveArrived = true, ...details }: ErrorDetails & { mayHaveArrived?: boolean } = {},
  ) {
    super(message, details);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** What runs inside the sandbox, or the way to it, cannot do that. */
export class UnsupportedError extends SandboxError {
  override readonly name: string = "UnsupportedError";
  override readonly code: ErrorCode = "UNSUPPORTED";
}
