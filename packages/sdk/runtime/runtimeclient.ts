/** Sends requests and Connect calls to the runtime in a sandbox, and detects if there is none. @module */
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { RUNTIME_PORT, USER_HEADER } from "../../api/router/protocol.ts";
import { ConnectionError, type ObjectRef, UnsupportedError } from "../errors.ts";
import { PORT_SILENT } from "../transport/direct.ts";
import type { SandboxTransport, TransportRequest } from "../transport/transport.ts";
import { errorOfAnswer } from "./answers.ts";
import { boundedMessages, outputAt, textUpTo, WORDS_BYTES } from "./bounded.ts";
import { withRetries } from "./repeat.ts";

/** Action of all Connect calls, for error messages. */
const CALL = "call the runtime";

/** A request to the runtime. */
interface RuntimeRequest extends TransportRequest {
  /**
   * Whether it may be sent again if its response was lost, because repeating it has no further effect.
   *
   * @default false
   */
  repeatable?: boolean;
  /** The action for error messages, such as `read "a.txt"`. */
  action: string;
  /** What to do if the runtime refuses the client. Absent: advice on the client's own token. */
  remedy?: string;
}

/** A client of the runtime in one sandbox. */
export interface RuntimeClient {
  /** The sandbox, for errors. */
  object: ObjectRef;
  /**
   * Sends a request to port {@link RUNTIME_PORT}.
   *
   * @returns a response of status 2xx @throws {@link SandboxError} for any other
   */
  request(path: string, request: RuntimeRequest): Promise<Response>;
  /** Transport for Connect calls to the services on that port. Calls are not repeated. @internal */
  connectTransport: Transport;
  transport: SandboxTransport;
  /**
   * Returns a client whose calls run as a user of the sandbox, and as the default user if `user` is undefined. The first
   * call checks that the runtime lets callers choose this user.
   */
  as(user: string | undefined): RuntimeClient;
  /**
   * Whether hookbox's runtime runs in the sandbox. Undefined: not known yet, because it was not asked or did not
   * answer.
   */
  known: { runtime: boolean | undefined };
}

/**
 * Creates the client.
 *
 * @param token token of the runtime, if it requires one
 */
export function createRuntimeClient(
  transport: SandboxTransport,
  object: ObjectRef,
  token: string | undefined,
): RuntimeClient {
  const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const known: RuntimeClient["known"] = { runtime: undefined };
  const clients = new Map<string, RuntimeClient>();
  const client = createClientOf({ transport, object, known }, authorization, {
    ready: () => Promise.resolve(),
    as: (user) => {
      if (user === undefined) return client;
      const ofUser = clients.get(user) ?? createClientOf({ transport, object, known }, {
        ...authorization,
        [USER_HEADER]: user,
      }, { ready: createUserCheck(client, user), as: client.as });
      clients.set(user, ofUser);
      return ofUser;
    },
  });
  return client;
}

/** Returns a function that checks once that calls can run as the user. An older runtime would run them as another. */
function createUserCheck(client: RuntimeClient, user: string): () => Promise<void> {
  const action = `act as user ${JSON.stringify(user)}`;
  let isChecked = false;
  return async () => {
    if (isChecked) return;
    const request = { headers: { [USER_HEADER]: user }, action, repeatable: true };
    const { headers, body } = await client.request("/v1/metadata", request);
    await body?.cancel();
    if (headers.get(USER_HEADER) !== user) {
      const { object } = client;
      throw new UnsupportedError(`Cannot ${action}: the runtime in the sandbox is too old to choose a user`, {
        object,
      });
    }
    isChecked = true;
  };
}

function createClientOf(
  { transport, object, known }: Pick<RuntimeClient, "transport" | "object" | "known">,
  own: Record<string, string>,
  { ready, as }: Pick<RuntimeClient, "as"> & { ready: () => Promise<void> },
): RuntimeClient {
  return {
    object,
    transport,
    known,
    as,
    async request(path, { repeatable = false, action, remedy, headers, ...request }) {
      await ready();
      const send = () => transport.fetch(RUNTIME_PORT, path, { ...request, headers: { ...own, ...headers } });
      const isStream = request.body instanceof ReadableStream;
      const asked = isStream ? send() : withRetries(send, { repeatable, signal: request.signal });
      const answer = await asked.catch((error) => {
        throw orSilent(error, known, action, object);
      });
      if (answer.ok) known.runtime = true;
      if (answer.ok) return answer;
      throw await errorOfAnswer(answer, action, object, transport.kind, remedy);
    },
    connectTransport: createConnectTransport({
      baseUrl: "http://sandbox",
      useBinaryFormat: true,
      // Unknown fields are never read, and each needs fifty times its bytes in memory.
      binaryOptions: { readUnknownFields: false },
      fetch: async (input, init) => {
        await ready();
        const { pathname } = new URL(String(input));
        const headers = Object.fromEntries(new Headers(init?.headers));
        const answer = await transport.fetch(RUNTIME_PORT, pathname, {
          method: init?.method ?? "POST",
          headers: { ...own, ...headers },
          body: init?.body as TransportRequest["body"],
          signal: init?.signal ?? undefined,
        }).catch((error) => {
          throw orSilent(error, known, CALL, object);
        });
        if (answer.ok) known.runtime = true;
        if (!answer.ok) return await errorOfService(answer, object, transport.kind);
        return boundedMessages(answer, outputAt(pathname), CALL, object);
      },
    }),
  };
}

/**
 * Returns the error of a request. If nothing has ever answered on the runtime's port, the message says that no runtime
 * answers.
 */
function orSilent(error: unknown, known: RuntimeClient["known"], action: string, object: ObjectRef): unknown {
  if (!(error instanceof ConnectionError) || error.reason !== PORT_SILENT || known.runtime) return error;
  const { reason, mayHaveArrived } = error;
  const where = `sandbox ${object.namespace}/${object.name} (port ${RUNTIME_PORT})`;
  const remedy = "Its image needs hookbox's runtime, which has to run: see docs/runtime.md.";
  const details = { object, reason, mayHaveArrived, remedy, cause: error };
  return new ConnectionError(`Cannot ${action}: no runtime answers in ${where}`, details);
}

/**
 * Returns an error response of a service unchanged. Throws for responses that do not have Connect's form: those of a
 * guard or the router, which refused the call.
 */
async function errorOfService(
  answer: Response,
  object: ObjectRef,
  via: SandboxTransport["kind"],
): Promise<Response> {
  const { status, headers } = answer;
  const again = new Response((await textUpTo(answer, WORDS_BYTES)).text, { status, headers });
  const body = await again.clone().json().catch(() => undefined) as { code?: unknown } | undefined;
  if (typeof body?.code === "string" && /^[a-z_]+$/.test(body.code)) return again;
  throw await errorOfAnswer(again, CALL, object, via);
}

/** How long the runtime may take to answer the health check, in milliseconds. */
const PROBE_MS = 5000;

/**
 * Returns whether a call failed because hookbox's runtime does not run in the sandbox. If nothing has ever answered on
 * its port, one health check is sent.
 */
export async function lacksRuntime({ transport, known }: RuntimeClient, error: unknown): Promise<boolean> {
  // Another runtime may serve files and health on the same port, so the error of this call decides.
  if (error instanceof UnsupportedError) known.runtime = false;
  if (known.runtime !== undefined || !(error instanceof ConnectionError)) return known.runtime === false;
  const answers = await transport.fetch(RUNTIME_PORT, "/v1/health", { signal: AbortSignal.timeout(PROBE_MS) })
    .then(async ({ body, status }) => (await body?.cancel(), status !== 404), () => false);
  known.runtime = answers;
  return !answers;
}
