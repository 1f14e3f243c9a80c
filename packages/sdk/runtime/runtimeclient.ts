/** A client of the runtime in one sandbox: plain requests, Connect calls, and whether there is a runtime at all. @module */
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ConnectionError, type ObjectRef, UnsupportedError } from "../errors.ts";
import { PORT_SILENT } from "../transport/direct.ts";
import type { SandboxTransport, TransportRequest } from "../transport/transport.ts";
import { errorOfAnswer } from "./answers.ts";
import { boundedMessages, textUpTo, WORDS_BYTES } from "./bounded.ts";
import { outputAt } from "./fields.ts";
import { repeating } from "./repeat.ts";

/** Port of the runtime's files and services. */
export const RUNTIME_PORT = 8080;

/** What a service is asked for, for messages. */
const CALL = "call the runtime";

/** A request to the runtime. */
interface RuntimeRequest extends TransportRequest {
  /** It may be sent again when its answer was lost: it changes nothing, or the same. @default false */
  repeatable?: boolean;
  /** What is being done, for messages: "read \"a.txt\"". */
  action: string;
}

/** The runtime of one sandbox. */
export interface RuntimeClient {
  /** The sandbox, for errors. */
  object: ObjectRef;
  /** Sends a request to port {@link RUNTIME_PORT}. @returns an answer of 2xx @throws {@link SandboxError} for any other */
  request(path: string, request: RuntimeRequest): Promise<Response>;
  /** Speaks Connect to the services on that port; calls are sent once. */
  connectTransport: Transport;
  transport: SandboxTransport;
  /** What is known by now: whether hookbox's runtime is inside; undefined: nobody has asked, or it has not answered. */
  known: { runtime: boolean | undefined };
}

/**
 * Makes it.
 *
 * @param token of the runtime, where it asks for one
 */
export function createRuntimeClient(
  transport: SandboxTransport,
  object: ObjectRef,
  token: string | undefined,
): RuntimeClient {
  const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const known: RuntimeClient["known"] = { runtime: undefined };
  return {
    object,
    transport,
    known,
    async request(path, { repeatable = false, action, headers, ...request }) {
      const send = () => transport.fetch(RUNTIME_PORT, path, { ...request, headers: { ...authorization, ...headers } });
      const isStream = request.body instanceof ReadableStream;
      const asked = isStream ? send() : repeating(send, { repeatable, signal: request.signal });
      const answer = await asked.catch((error) => {
        throw orSilent(error, known, action, object);
      });
      if (answer.ok) known.runtime = true;
      if (answer.ok) return answer;
      throw await errorOfAnswer(answer, action, object);
    },
    connectTransport: createConnectTransport({
      baseUrl: "http://sandbox",
      useBinaryFormat: true,
      // Nobody reads them, and each takes fifty times its bytes.
      binaryOptions: { readUnknownFields: false },
      fetch: async (input, init) => {
        const { pathname } = new URL(String(input));
        const headers = Object.fromEntries(new Headers(init?.headers));
        const answer = await transport.fetch(RUNTIME_PORT, pathname, {
          method: init?.method ?? "POST",
          headers: { ...authorization, ...headers },
          body: init?.body as TransportRequest["body"],
          signal: init?.signal ?? undefined,
        }).catch((error) => {
          throw orSilent(error, known, CALL, object);
        });
        if (answer.ok) known.runtime = true;
        if (!answer.ok) return await errorOfService(answer, object);
        return boundedMessages(answer, outputAt(pathname), CALL, object);
      },
    }),
  };
}

/** Returns the error of a request, in words of the runtime where nothing has ever answered at its port. */
function orSilent(error: unknown, known: RuntimeClient["known"], action: string, object: ObjectRef): unknown {
  if (!(error instanceof ConnectionError) || error.reason !== PORT_SILENT || known.runtime) return error;
  const { reason, mayHaveArrived } = error;
  const where = `sandbox ${object.namespace}/${object.name} (port ${RUNTIME_PORT})`;
  const remedy = "Its image needs hookbox's runtime, which has to run: see docs/runtime.md.";
  const details = { object, reason, mayHaveArrived, remedy, cause: error };
  return new ConnectionError(`Cannot ${action}: no runtime answers in ${where}`, details);
}

/** A service words its errors in Connect's way; what refuses a call before it (a guard, the router) does not. */
async function errorOfService(answer: Response, object: ObjectRef): Promise<Response> {
  const { status, headers } = answer;
  const again = new Response((await textUpTo(answer, WORDS_BYTES)).text, { status, headers });
  const body = await again.clone().json().catch(() => undefined) as { code?: unknown } | undefined;
  if (typeof body?.code === "string" && /^[a-z_]+$/.test(body.code)) return again;
  throw await errorOfAnswer(again, CALL, object);
}

/** How long the runtime may take to say that it is there, in milliseconds. */
const PROBE_MS = 5000;

/**
 * Tells whether a call failed because hookbox's runtime is not inside: something else answers there, or nothing ever has,
 * which is asked once more.
 */
export async function lacksRuntime({ transport, known }: RuntimeClient, error: unknown): Promise<boolean> {
  // Runtimes of others may have files and health on the same port.
  if (error instanceof UnsupportedError) known.runtime = false;
  if (known.runtime !== undefined || !(error instanceof ConnectionError)) return known.runtime === false;
  const answers = await transport.fetch(RUNTIME_PORT, "/v1/health", { signal: AbortSignal.timeout(PROBE_MS) })
    .then(async ({ body, status }) => (await body?.cancel(), status !== 404), () => false);
  known.runtime = answers;
  return !answers;
}
