/** Turns failures of calls over Connect into errors. Knows no service. @module */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  type ErrorDetails,
  InvalidArgumentError,
  NotFoundError,
  type ObjectRef,
  RateLimitError,
  SandboxError,
  TimeoutError,
  UnsupportedError,
} from "../errors.ts";
import { trimmed } from "./answers.ts";

/**
 * Makes the error for a call that failed: `Cannot <action>: <their words>`. An error of ours is returned as it is.
 *
 * It does not know whether the caller's signal ended the call: ask `signal?.throwIfAborted()` before.
 */
export function errorOfConnect(error: unknown, action: string, object: ObjectRef): SandboxError {
  if (error instanceof SandboxError) return error;
  const failed = ConnectError.from(error);
  if (failed.cause instanceof SandboxError) return failed.cause;
  if (isBroken(failed)) return broken(action, object, failed);
  const message = `Cannot ${action}: ${trimmed(failed.rawMessage) || "the runtime gives no reason"}`;
  return ofCode(failed.code, message, { object, reason: nameOf(failed.code) });
}

/** What has no cause came over the wire; the rest broke on this side of it. */
function isBroken({ cause, code, rawMessage }: ConnectError): boolean {
  return cause !== undefined || code === Code.Canceled || rawMessage.startsWith("protocol error: ");
}

function broken(action: string, object: ObjectRef, { cause, rawMessage }: ConnectError): ConnectionError {
  return new ConnectionError(`Cannot ${action}: the connection broke (${rawMessage})`, { object, cause });
}

function ofCode(code: Code, message: string, details: ErrorDetails): SandboxError {
  switch (code) {
    case Code.InvalidArgument:
    case Code.OutOfRange:
      return new InvalidArgumentError(message, details);
    case Code.NotFound:
      return new NotFoundError(message, details);
    case Code.AlreadyExists:
    case Code.Aborted:
    case Code.FailedPrecondition:
      return new ConflictError(message, details);
    case Code.Unauthenticated:
      return new AuthenticationError(message, { ...details, remedy: "Give the option `token`, or HOOKBOX_TOKEN." });
    case Code.PermissionDenied:
      return new AuthorizationError(message, details);
    case Code.ResourceExhausted:
      return new RateLimitError(message, details);
    case Code.DeadlineExceeded:
      return new TimeoutError(message, details);
    case Code.Unimplemented:
      return new UnsupportedError(message, { ...details, remedy: "Does hookbox's runtime run in the sandbox?" });
    case Code.Unavailable:
      return new ConnectionError(message, details);
  }
  return new SandboxError(message, details);
}

/** As the runtime's other answers spell it: `NOT_FOUND`. */
function nameOf(code: Code): string {
  return (Code[code] ?? "Unknown").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
