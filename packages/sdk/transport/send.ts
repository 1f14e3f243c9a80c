/** One request by `fetch`, and why it got no answer, and whether it can have arrived. Tries nothing twice. @module */
import { ConnectionError, type ObjectRef } from "../errors.ts";
import type { TransportRequest } from "./transport.ts";

/** What a request goes to, for the error if no answer comes. */
export interface Addressee {
  object: ObjectRef;
  /** For people. */
  what: string;
  /** The error's reason. */
  reason?: string;
}

/** Sends it. @throws {@link ConnectionError} if no answer comes, or the reason of its signal */
export async function send(
  url: URL,
  { method = "GET", headers = {}, body, signal, credentials = "same-origin" }: TransportRequest,
  addressee: Addressee,
): Promise<Response> {
  try {
    const answer = await fetch(url, {
      method,
      headers,
      redirect: "manual",
      credentials,
      // A sandbox changes without its browser being told.
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

/** Holds on to answers while they are read: a signal does not end the body of one that Deno has garbage-collected. */
const responseOf = new WeakMap<ReadableStream, Response>();

/** What may be sent twice: it changes nothing, or the same again. */
const REPEATABLE = new Set(["GET", "HEAD", "PUT"]);

/**
 * Deno's `fetch` sends a request again by itself when its connection breaks before the answer, a POST too: but not one
 * whose body is a stream.
 */
function bodyOf(method: string, body: TransportRequest["body"]) {
  const mustBeStream = "Deno" in globalThis && !REPEATABLE.has(method);
  const sent = mustBeStream && !(body instanceof ReadableStream)
    ? new Blob(body === undefined ? [] : [body]).stream()
    : body;
  if (sent === undefined) return {};
  // A stream goes out while the answer comes in.
  return sent instanceof ReadableStream ? { body: sent, duplex: "half" } : { body: sent };
}

/** What the system says when no connection came about. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** Deno has no codes for it. */
const NEVER_CONNECTED_WORDS = /client error \(Connect\)|dns error|Connection refused/i;

/** Makes the error for a `fetch` that threw. */
function connectionError(error: unknown, { what, object, reason }: Addressee): ConnectionError {
  const cause = innermost(error);
  const code = (cause as { code?: unknown }).code;
  const words = `${(error as Error).message} ${(cause as Error).message}`;
  const mayHaveArrived = !(NEVER_CONNECTED.has(String(code)) || NEVER_CONNECTED_WORDS.test(words));
  const why = (cause as Error).message || String(code);
  return new ConnectionError(`Cannot reach ${what}: ${why}`, { object, reason, cause: error, mayHaveArrived });
}

/** Node wraps the cause, and wraps several of them once more. */
function innermost(error: unknown): unknown {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown[] };
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? error : innermost(inner);
}
