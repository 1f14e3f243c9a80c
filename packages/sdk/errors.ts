/** Error classes of the SDK. Each error says what failed, why, for which object, and what to do. @module */
import type { ObjectRef } from "../api/diagnosis/finding.ts";

/** The kind of failure, as a string. The classes below make the same distinction for `instanceof`. */
export type ErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "CONFLICT"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "QUOTA_EXCEEDED"
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
  /** Objects that the failed call has created, or may have created, and could not delete again. */
  leftover?: ObjectRef[] | undefined;
  cause?: unknown;
}

/**
 * Base class of all errors of the SDK. If a call is aborted, it throws the reason of its signal instead; but if it leaves
 * objects behind, it throws an error with `leftover`, whose `cause` is that reason.
 */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
  readonly code: ErrorCode = "INTERNAL";
  /** The reason in one word. Undefined if it is not known. */
  readonly reason: string | undefined;
  /** The object that caused the failure. Undefined if no object did. */
  readonly object: ObjectRef | undefined;
  /** What to do about it. Undefined if there is no advice. */
  readonly remedy: string | undefined;
  /**
   * Objects that the failed call has created, or may have created, and could not delete again. The message contains a
   * command that deletes them. Undefined: there are none.
   */
  readonly leftover: ObjectRef[] | undefined;

  constructor(message: string, { reason, object, remedy, leftover, cause }: ErrorDetails = {}) {
    super(remedy === undefined ? message : `${message}. ${remedy}`, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.object = object;
    this.remedy = remedy;
    this.leftover = leftover;
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

/** The namespace has a quota, and the object would exceed it. */
export class QuotaExceededError extends SandboxError {
  override readonly name: string = "QuotaExceededError";
  override readonly code: ErrorCode = "QUOTA_EXCEEDED";
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

/**
 * Returns an error of the same class that also names the objects that the failed call leaves behind.
 *
 * @param error if it is not a {@link SandboxError}, it is the `cause` of the new error
 * @param why why it is not certain that the objects are gone, without a full stop
 * @internal
 */
export function withLeftover(error: unknown, objects: ObjectRef[], why: string): SandboxError {
  const names = objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(" and ");
  const them = objects.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join(" ");
  const advice = `${names} may still exist (${why}). To delete: kubectl delete -n ${objects[0]?.namespace} ${them}`;
  if (!(error instanceof SandboxError)) {
    const message = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
    return new SandboxError(message, { remedy: advice, leftover: objects, cause: error });
  }
  const { message, remedy, leftover = [], cause } = error;
  const bare = remedy !== undefined && message.endsWith(`. ${remedy}`) ? message.slice(0, -remedy.length - 2) : message;
  // All classes have a constructor with these parameters. A new error, because its stack contains the message.
  const Class = error.constructor as typeof SandboxError;
  return new Class(bare, {
    ...error,
    remedy: remedy === undefined ? advice : `${remedy} ${advice}`,
    leftover: [...leftover, ...objects],
    cause,
  });
}
