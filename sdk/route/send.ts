/** One request by `fetch`, its failures told apart. Tries nothing twice. @module */
import type { ObjectRef } from "../errors.ts";
import { connectionError } from "./failure.ts";
import type { RouteRequest } from "./route.ts";

/** Sends it. @throws {ConnectionError} if no answer comes, or the reason of its signal */
export async function send(
  url: URL,
  { method = "GET", headers = {}, body, signal }: RouteRequest,
  object: ObjectRef,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers,
      redirect: "manual",
      ...body === undefined ? {} : { body },
      // A stream goes out while the answer comes in.
      ...body instanceof ReadableStream ? { duplex: "half" } : {},
      ...signal ? { signal } : {},
    } as RequestInit);
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionError(error, url.origin, object);
  }
}
