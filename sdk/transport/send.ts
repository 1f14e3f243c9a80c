/** One request by `fetch`, its failures told apart. Tries nothing twice. @module */
import type { ObjectRef } from "../errors.ts";
import { connectionError } from "./failure.ts";
import type { TransportRequest } from "./transport.ts";

/** Sends it. @throws {ConnectionError} if no answer comes, or the reason of its signal */
export async function send(
  url: URL,
  { method = "GET", headers = {}, body, signal }: TransportRequest,
  object: ObjectRef,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers,
      redirect: "manual",
      ...bodyOf(method, body),
      ...signal ? { signal } : {},
    } as RequestInit);
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionError(error, url.origin, object);
  }
}

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
