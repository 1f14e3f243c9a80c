/** Sends one request by `fetch`. If it fails, the error says why, and whether the request can have arrived. @module */
import { ConnectionError, type ObjectRef } from "../errors.ts";
import type { TransportRequest } from "./transport.ts";

/** The receiver of a request, for error messages. */
export interface Addressee {
  object: ObjectRef;
  /** Name for messages. */
  what: string;
  /** Reason of the error. */
  reason?: string;
}

/** Sends a request once. @throws {@link ConnectionError} if there is no response, or the reason of the signal */
export async function send(
  url: URL,
  { method = "GET", headers = {}, body, signal, credentials = "same-origin" }: TransportRequest,
  addressee: Addressee,
  // Not the function itself: programs may replace the global one later.
  by: (url: URL, request: RequestInit) => Promise<Response> = (url, request) => fetch(url, request),
): Promise<Response> {
  try {
    const answer = await by(url, {
      method,
      headers,
      redirect: "manual",
      credentials,
      // Files in a sandbox change without notice to the browser.
      cache: "no-store",
      ...bodyOf(method, body),
      ...signal ? { signal } : {},
    } as RequestInit);
    if (answer.body) responseOf.set(answer.body, answer);
    return answer;
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionError(error, addressee);
  }
}

/**
 * Keeps responses alive while their bodies are read. In Deno, a signal does not end a body whose response was
 * garbage-collected.
 */
const responseOf = new WeakMap<ReadableStream, Response>();

/** Methods whose requests may be sent twice: repeating them has no further effect. */
const REPEATABLE = new Set(["GET", "HEAD", "PUT"]);

/**
 * Deno's `fetch` repeats a request if its connection breaks before the response, even a POST, but not if the body is a
 * stream. So the body of a POST is sent as a stream.
 */
function bodyOf(method: string, body: TransportRequest["body"]) {
  const mustBeStream = "Deno" in globalThis && !REPEATABLE.has(method);
  const sent = mustBeStream && !(body instanceof ReadableStream)
    ? new Blob(body === undefined ? [] : [body]).stream()
    : body;
  if (sent === undefined) return {};
  // "half" is the only value that `fetch` supports for bodies that are streams.
  return sent instanceof ReadableStream ? { body: sent, duplex: "half" } : { body: sent };
}

/** Error codes of failed connections: the request was not sent. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** Messages of failed connections in Deno, which has no error codes for them. */
const NEVER_CONNECTED_WORDS = /client error \(Connect\)|dns error|Connection refused/i;

/** Creates the error for a `fetch` that failed. */
function connectionError(error: unknown, { what, object, reason }: Addressee): ConnectionError {
  const cause = innermost(error);
  const code = (cause as { code?: unknown }).code;
  const words = `${(error as Error).message} ${(cause as Error).message}`;
  const mayHaveArrived = !(NEVER_CONNECTED.has(String(code)) || NEVER_CONNECTED_WORDS.test(words));
  const why = (cause as Error).message || String(code);
  return new ConnectionError(`Cannot reach ${what}: ${why}`, { object, reason, cause: error, mayHaveArrived });
}

/** Returns the innermost cause. Node wraps the cause, and several causes twice. */
function innermost(error: unknown): unknown {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown[] };
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? error : innermost(inner);
}
