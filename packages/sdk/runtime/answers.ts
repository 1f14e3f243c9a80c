/** Converts failed responses to errors: of plain requests, of Connect calls, and of the router. @module */
import { Code, ConnectError } from "@connectrpc/connect";
import { ACCESS_DENIED, NOT_SENT, REASON_HEADER, SANDBOX_NOT_FOUND } from "../../api/router/protocol.ts";
import {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  type ErrorDetails,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  type ObjectRef,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
  UnsupportedError,
} from "../errors.ts";
import type { SandboxTransport } from "../transport/transport.ts";
import { textUpTo, WORDS_BYTES } from "./bounded.ts";

/**
 * Creates the error for a response: `Cannot <action>: <message of the response>`. Reads up to {@link WORDS_BYTES} of
 * the body.
 *
 * @param via how the request was sent: only a router's answer has the header with a reason, and advice
 * @param remedy what to do if the runtime refuses the client; the router does not send a code
 */
export async function errorOfAnswer(
  answer: Response,
  action: string,
  object: ObjectRef,
  via: SandboxTransport["kind"],
  remedy?: string,
): Promise<SandboxError> {
  const { text } = await textUpTo(answer, WORDS_BYTES).catch(() => ({ text: "" }));
  const { code, words, advice } = messageIn(text, answer);
  const message = `Cannot ${action}: ${words}`;
  // The router removes this header from what a sandbox answers.
  const fromRouter = via === "router" ? answer.headers.get(REASON_HEADER) : null;
  const reason = fromRouter ?? code;
  const details: ErrorDetails = { object, ...reason === undefined ? {} : { reason } };
  switch (answer.status) {
    case 400:
    case 416:
      return new InvalidArgumentError(message, details);
    case 401:
      return new AuthenticationError(message, {
        ...details,
        remedy: code === undefined || remedy === undefined ? "Give the option `token`, or HOOKBOX_TOKEN." : remedy,
      });
    case 403:
      return new AuthorizationError(message, {
        ...details,
        remedy: fromRouter === ACCESS_DENIED ? advice : code && remedy,
      });
    case 404:
      if (fromRouter === SANDBOX_NOT_FOUND) {
        return new SandboxNotFoundError(`Cannot find sandbox ${object.namespace}/${object.name}: ${words}`, details);
      }
      return code === "NOT_FOUND" ? new FileNotFoundError(message, details) : noRuntime(message, details);
    case 405:
    case 501:
      return new UnsupportedError(message, details);
    case 409:
    case 412:
      return new ConflictError(message, details);
    case 413:
    case 507:
      return new NotEnoughSpaceError(message, details);
    case 429:
      return new RateLimitError(message, { ...details, retryAfterMs: retryAfterOf(answer) });
    case 502:
      return new ConnectionError(message, { ...details, remedy: advice, mayHaveArrived: fromRouter !== NOT_SENT });
    case 503:
      return new ConnectionError(message, { ...details, mayHaveArrived: false });
    case 504:
      return new TimeoutError(message, details);
  }
  return new SandboxError(message, details);
}

/** A 404 without a code is from the router, or from another program on that port. */
function noRuntime(message: string, details: ErrorDetails): SandboxError {
  const remedy = "Is the sandbox there, and does hookbox's runtime run in it?";
  return new UnsupportedError(message, { ...details, remedy });
}

/** Codes of the runtime. A reason of the API server or of the router, such as `Forbidden`, has another form. */
const CODE = /^[A-Z_]{1,64}$/;

/** Errors of the runtime have the form `{code, message}`, those of the router `{detail, remedy?}`. */
function messageIn(
  text: string,
  { status }: Response,
): { code?: string; words: string; advice?: string | undefined } {
  try {
    const { code, message, detail, remedy } = JSON.parse(text) as Record<string, unknown>;
    const words = [message, detail].find((one) => typeof one === "string");
    const advice = typeof remedy === "string" ? remedy.slice(0, WORDS_BYTES) : undefined;
    return {
      ...typeof code === "string" && CODE.test(code) ? { code } : {},
      words: words ? trimmed(words) : `HTTP ${status}`,
      advice,
    };
  } catch {
    return { words: `HTTP ${status}` };
  }
}

/**
 * Removes "Cannot …: " from a message of the runtime, because the SDK's message starts in the same way. Text in quotes
 * may contain colons.
 */
function trimmed(words: string): string {
  return words.slice(0, WORDS_BYTES).replace(/^Cannot (?:"[^"]*"|[^:"])*: /, "").replace(/\.$/, "");
}

function retryAfterOf(answer: Response): number | undefined {
  const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/**
 * Creates the error for a failed call: `Cannot <action>: <message of the response>`. An error of the SDK is returned
 * unchanged.
 *
 * It does not check whether the caller's signal ended the call; call `signal?.throwIfAborted()` before.
 */
export function errorOfConnect(error: unknown, action: string, object: ObjectRef): SandboxError {
  if (error instanceof SandboxError) return error;
  const failed = ConnectError.from(error);
  if (failed.cause instanceof SandboxError) return failed.cause;
  if (isBroken(failed)) return broken(action, object, failed);
  const message = `Cannot ${action}: ${trimmed(failed.rawMessage) || "the runtime gives no reason"}`;
  return ofCode(failed.code, message, { object, reason: nameOf(failed.code) });
}

/** An error without a cause came from the server. All others happened on this side of the connection. */
function isBroken({ cause, code, rawMessage }: ConnectError): boolean {
  return cause !== undefined || code === Code.Canceled || rawMessage.startsWith("protocol error: ");
}

function broken(action: string, object: ObjectRef, { cause, rawMessage }: ConnectError): ConnectionError {
  return new ConnectionError(`Cannot ${action}: the connection broke (${rawMessage.slice(0, WORDS_BYTES)})`, {
    object,
    cause,
  });
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

/** Spells a code as the runtime's other responses do: `NOT_FOUND`. */
function nameOf(code: Code): string {
  return (Code[code] ?? "Unknown").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
