/** Error classes of the SDK. Each error says what failed, why, for which object, and what to do. @module */
import type { ObjectRef } from "../api/diagnosis/finding.ts";

/** The kind of failure, as a string. The classes below make the same distinction for `instanceof`. */
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

/** What an error contains in addition to its message. */
export interface ErrorDetails {
  /** The reason in one word, from hookbox or {@link https://kubernetes.io | Kubernetes}, such as `TemplateNotFound`. */
  reason?: string | undefined;
  /** The object that caused the failure. */
  object?: ObjectRef | undefined;
  /** What to do about it, in one sentence. The message ends with it. */
  remedy?: string | undefined;
  cause?: unknown;
}

/** Base class of all errors of the SDK. If a call is aborted, it throws the reason of its signal instead. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
  readonly code: ErrorCode = "INTERNAL";
  /** The reason in one word. Undefined if it is not known. */
  readonly reason: string | undefined;
  /** The object that caused the failure. Undefined if no object did. */
  readonly object: ObjectRef | undefined;
  /** What to do about it. Undefined if there is no advice. */
  readonly remedy: string | undefined;

  constructor(message: string, { reason, object, remedy, cause }: ErrorDetails = {}) {
    super(remedy === undefined ? message : `${message}. ${remedy}`, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.object = object;
    this.remedy = remedy;
  }
}

/** An argument is invalid, or contradicts another one. If the SDK detects it, no request was sent. */
export class InvalidArgumentError extends SandboxError {
  override readonly name: string = "InvalidArgumentError";
  override readonly code: ErrorCode = "INVALID_ARGUMENT";
}

/** The requested object does not exist. */
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

/** An object of that name exists already, or the object was changed at the same time. */
export class ConflictError extends SandboxError {
  override readonly name: string = "ConflictError";
  override readonly code: ErrorCode = "CONFLICT";
}

/** The server does not know who sent the request: the token or certificate is missing, invalid or expired. */
export class AuthenticationError extends SandboxError {
  override readonly name: string = "AuthenticationError";
  override readonly code: ErrorCode = "UNAUTHENTICATED";
}

/** The user is not allowed to do this. */
export class AuthorizationError extends SandboxError {
  override readonly name: string = "AuthorizationError";
  override readonly code: ErrorCode = "PERMISSION_DENIED";
}

/** Too many requests were sent. Try again later. */
export class RateLimitError extends SandboxError {
  override readonly name: string = "RateLimitError";
  override readonly code: ErrorCode = "RATE_LIMITED";
  /** How long to wait before the next try, in milliseconds. Undefined if the server did not say it. */
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    { retryAfterMs, ...details }: ErrorDetails & { retryAfterMs?: number | undefined } = {},
  ) {
    super(message, details);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The sandbox's disk is full, or a file is larger than the runtime accepts. */
export class NotEnoughSpaceError extends SandboxError {
  override readonly name: string = "NotEnoughSpaceError";
  override readonly code: ErrorCode = "NO_SPACE";
}

/** The call took longer than its time limit. If it is known what the call waited for, that is the `reason`. */
export class TimeoutError extends SandboxError {
  override readonly name: string = "TimeoutError";
  override readonly code: ErrorCode = "TIMEOUT";
}

/**
 * The sandbox cannot become Ready, however long you wait. `reason`, `object` and `remedy` are those that `why` returns.
 */
export class SandboxFailedError extends SandboxError {
  override readonly name: string = "SandboxFailedError";
  override readonly code: ErrorCode = "FAILED";
}

/** The pool or template does not exist, or does not allow an option of the request. */
export class TemplateError extends SandboxFailedError {
  override readonly name: string = "TemplateError";
}

/** The server does not answer, or the connection broke. */
export class ConnectionError extends SandboxError {
  override readonly name: string = "ConnectionError";
  override readonly code: ErrorCode = "UNAVAILABLE";
  /** Whether the request may have reached the server. If true, the requested change may have happened. */
  readonly mayHaveArrived: boolean;
  constructor(
    message: string,
    { mayHaveArrived = true, ...details }: ErrorDetails & { mayHaveArrived?: boolean } = {},
  ) {
    super(message, details);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** The runtime in the sandbox, or the connection to it, does not support this operation. */
export class UnsupportedError extends SandboxError {
  override readonly name: string = "UnsupportedError";
  override readonly code: ErrorCode = "UNSUPPORTED";
}
