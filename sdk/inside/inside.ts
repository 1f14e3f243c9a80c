/** What runs inside a sandbox, as the parts of a handle ask it: files, commands and code of the runtime. @module */
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Transport } from "@connectrpc/connect";
import type { ObjectRef } from "../errors.ts";
import type { Route, RouteRequest } from "../route/route.ts";
import { errorOfAnswer } from "./answers.ts";
import { repeating } from "./repeat.ts";

/** Port of the runtime's files and services. */
export const RUNTIME_PORT = 8080;

/** A request to the runtime. */
export interface InsideRequest extends RouteRequest {
  /** It may be sent again when its answer was lost: it changes nothing, or the same. @default {false} */
  repeatable?: boolean;
  /** What is being done, for messages: "read \"a.txt\"". */
  action: string;
}

/** The runtime of one sandbox. */
export interface Inside {
  /** The sandbox, for errors. */
  object: ObjectRef;
  /** Sends a request to port {@link RUNTIME_PORT}. @returns an answer of 2xx @throws {SandboxError} for any other */
  request(path: string, request: InsideRequest): Promise<Response>;
  /** Speaks Connect to the services on that port; calls are sent once. */
  transport: Transport;
  route: Route;
  /** What is known by now: whether hookbox's runtime is inside; undefined: nobody has asked, or it has not answered. */
  known: { runtime: boolean | undefined };
}

/**
 * Makes it.
 *
 * @param token of the runtime, where it asks for one
 */
export function createInside(route: Route, object: ObjectRef, token: string | undefined): Inside {
  const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const known: Inside["known"] = { runtime: undefined };
  return {
    object,
    route,
    known,
    async request(path, { repeatable = false, action, headers, ...request }) {
      const send = () => route.fetch(RUNTIME_PORT, path, { ...request, headers: { ...authorization, ...headers } });
      const isStream = request.body instanceof ReadableStream;
      const answer = isStream ? await send() : await repeating(send, { repeatable, signal: request.signal });
      if (answer.ok) known.runtime = true;
      if (answer.ok) return answer;
      throw await errorOfAnswer(answer, action, object);
    },
    transport: createConnectTransport({
      baseUrl: "http://sandbox",
      useBinaryFormat: true,
      fetch: async (input, init) => {
        const { pathname } = new URL(String(input));
        const headers = Object.fromEntries(new Headers(init?.headers));
        const answer = await route.fetch(RUNTIME_PORT, pathname, {
          method: init?.method ?? "POST",
          headers: { ...authorization, ...headers },
          body: init?.body as RouteRequest["body"],
          signal: init?.signal ?? undefined,
        });
        if (answer.ok) known.runtime = true;
        return answer.ok ? answer : await errorOfService(answer, object);
      },
    }),
  };
}

/** A service words its errors in Connect's way; what refuses a call before it (a guard, the router) does not. */
async function errorOfService(answer: Response, object: ObjectRef): Promise<Response> {
  const { status, headers } = answer;
  const again = new Response(await answer.text(), { status, headers });
  const body = await again.clone().json().catch(() => undefined) as { code?: unknown } | undefined;
  if (typeof body?.code === "string" && /^[a-z_]+$/.test(body.code)) return again;
  throw await errorOfAnswer(again, "call the runtime", object);
}
