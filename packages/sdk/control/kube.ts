/** Sends requests to the API server, and converts failures to errors of the SDK. @module */
import { type Answer, type Api, type ApiRequest, isOk, messageOf } from "../../kube/api.ts";
import {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  InvalidArgumentError,
  NotFoundError,
  type ObjectRef,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
} from "../errors.ts";
import { repeating } from "../runtime/repeat.ts";

/** A request with its purpose ("create a claim") and its object, for error messages. */
export interface ActionRequest extends ApiRequest {
  action: string;
  object: ObjectRef;
  /** Whether it may be sent again if its response was lost. @default true for GET, PATCH and DELETE */
  repeatable?: boolean;
}

/**
 * Sends a request and returns the body of the response. Repeats it if that is safe.
 *
 * @throws {@link SandboxError} if it fails
 */
export async function ask<T>(api: Api, asked: ActionRequest): Promise<T> {
  const answer = await sent(api, asked);
  if (!isOk(answer)) throw errorOfKube(answer, asked);
  return answer.body as T;
}

/** As {@link ask}, but returns undefined if the object does not exist. */
export async function askIfAny<T>(api: Api, asked: ActionRequest): Promise<T | undefined> {
  const answer = await sent(api, asked);
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw errorOfKube(answer, asked);
  return answer.body as T;
}

async function sent(api: Api, { action, object, repeatable, ...request }: ActionRequest): Promise<Answer> {
  const send = async () => {
    try {
      return await api.send(request);
    } catch (error) {
      request.signal?.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      const remedy = "Check the kubeconfig and its context, or whether the API server runs.";
      throw new ConnectionError(`Cannot ${action}: ${why}`, { object, cause: error, remedy, mayHaveArrived: true });
    }
  };
  return await repeating(send, { repeatable: repeatable ?? request.method !== "POST", signal: request.signal });
}

/** Advice for a namespace that does not exist. */
export const NO_NAMESPACE = "Create it, or name another one.";

/** Converts a failed response of the API server to an error. */
export function errorOfKube(
  answer: Answer,
  { action, object }: Pick<ActionRequest, "action" | "object">,
): SandboxError {
  const message = `Cannot ${action}: ${messageOf(answer)}`;
  const { reason, details: more } = (answer.body ?? {}) as {
    reason?: string;
    details?: { retryAfterSeconds?: number };
  };
  const details = { object, reason };
  switch (answer.status) {
    case 400:
    case 422:
      return new InvalidArgumentError(message, details);
    case 401:
      return new AuthenticationError(message, { ...details, remedy: "Log in to the cluster again." });
    case 403:
      return new AuthorizationError(message, details);
    case 404:
      return notFound(action, messageOf(answer), details);
    case 409:
      return new ConflictError(message, details);
    case 429: {
      const retryAfterMs = more?.retryAfterSeconds === undefined ? undefined : more.retryAfterSeconds * 1000;
      return new RateLimitError(message, { ...details, retryAfterMs });
    }
    case 504:
      return new TimeoutError(message, details);
  }
  if (answer.status >= 500) return new ConnectionError(message, details);
  return new SandboxError(message, details);
}

/** A 404 for a collection means that the CRD is missing. A 404 for a new object means that its namespace is missing. */
function notFound(
  action: string,
  words: string,
  details: { object: ObjectRef; reason: string | undefined },
): SandboxError {
  const message = `Cannot ${action}: ${words}`;
  const namespace = /^namespaces "([^"]+)" not found$/.exec(words)?.[1];
  if (namespace !== undefined) {
    const why = `namespace "${namespace}" does not exist`;
    return new NotFoundError(`Cannot ${action}: ${why}`, { ...details, remedy: NO_NAMESPACE });
  }
  if (message.includes("could not find the requested resource")) {
    const remedy = "The cluster does not serve the Agent Sandbox API: install it with `hookbox install`.";
    return new NotFoundError(message, { ...details, remedy });
  }
  const isSandbox = details.object.kind === "SandboxClaim" || details.object.kind === "Sandbox";
  return isSandbox ? new SandboxNotFoundError(message, details) : new NotFoundError(message, details);
}
