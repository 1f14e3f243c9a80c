/** Turns answers that are no success, of the runtime or of the router before it, into errors. @module */
import { REASON_HEADER, SANDBOX_NOT_FOUND } from "../../lib/routerheaders.ts";
import {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  type ErrorDetails,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  type ObjectRef,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
  UnsupportedError,
} from "../errors.ts";

/** Makes the error for an answer: `Cannot <action>: <their words>`. Reads the body. */
export async function errorOfAnswer(answer: Response, action: string, object: ObjectRef): Promise<SandboxError> {
  const { code, words } = wordsOf(await answer.text().catch(() => ""), answer);
  const message = `Cannot ${action}: ${words}`;
  const reason = code ?? answer.headers.get(REASON_HEADER) ?? undefined;
  const details: ErrorDetails = { object, ...reason === undefined ? {} : { reason } };
  switch (answer.status) {
    case 400:
    case 416:
      return new InvalidArgumentError(message, details);
    case 401:
      return new AuthenticationError(message, { ...details, remedy: "Give the option `token`, or HOOKBOX_TOKEN." });
    case 403:
      return new AuthorizationError(message, details);
    case 404:
      if (reason === SANDBOX_NOT_FOUND) {
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
    case 503:
      return new ConnectionError(message, { ...details, mayHaveArrived: false });
    case 504:
      return new TimeoutError(message, details);
  }
  return new SandboxError(message, details);
}

/** 404 without a code is the router's, or of something else that listens there. */
function noRuntime(message: string, details: ErrorDetails): SandboxError {
  const remedy = "Is the sandbox there, and does hookbox's runtime run in it?";
  return new UnsupportedError(message, { ...details, remedy });
}

/** The runtime answers `{code, message}`, the router `{detail}`. */
function wordsOf(text: string, { status }: Response): { code?: string; words: string } {
  try {
    const { code, message, detail } = JSON.parse(text) as Record<string, unknown>;
    const words = [message, detail].find((one) => typeof one === "string");
    return { ...typeof code === "string" ? { code } : {}, words: words ? trimmed(words) : `HTTP ${status}` };
  } catch {
    return { words: `HTTP ${status}` };
  }
}

/** The runtime's messages begin with "Cannot …: " as ours do: once is enough. What is in quotes may have colons. */
export function trimmed(words: string): string {
  return words.replace(/^Cannot (?:"[^"]*"|[^:"])*: /, "").replace(/\.$/, "");
}

function retryAfterOf(answer: Response): number | undefined {
  const seconds = Number(answer.headers.get("Retry-After") ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
