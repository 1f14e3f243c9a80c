/** Sends requests to the Kubernetes API server, and converts failures to errors of the SDK. @module */
import { shellWord, subjectOf } from "../../api/shellwords.ts";
import { isQuotaExceeded } from "../../api/diagnosis/messages.ts";
import { type Answer, type Api, type ApiRequest, isOk, messageOf } from "../../kube/api.ts";
import {
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  ConnectionError,
  InvalidArgumentError,
  NotFoundError,
  type ObjectRef,
  QuotaExceededError,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
} from "../errors.ts";
import { withRetries } from "../runtime/repeat.ts";

/** A request with its purpose ("create a claim") and its object, for error messages. */
export interface ActionRequest extends ApiRequest {
  action: string;
  object: ObjectRef;
  /** Whether the request may be sent again if its response was lost. @default true, except for POST */
  repeatable?: boolean;
}

/**
 * Sends a request to the API server and returns the body of the response. Repeats the request if that is safe.
 *
 * @throws {@link SandboxError} if the request fails
 */
export async function callAPI<T>(api: Api, request: ActionRequest): Promise<T> {
  const answer = await sendWithRetries(api, request);
  if (!isOk(answer)) throw errorOfKube(answer, request);
  return answer.body as T;
}

/** As {@link callAPI}, but returns undefined if the object does not exist. */
export async function callAPIIfFound<T>(api: Api, request: ActionRequest): Promise<T | undefined> {
  const answer = await sendWithRetries(api, request);
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw errorOfKube(answer, request);
  return answer.body as T;
}

/** A path with an empty name, or with dots as a name. */
const WITHOUT_NAME = /\/\.{0,2}(?:\/|$)/;

async function sendWithRetries(api: Api, { action, object, repeatable, ...request }: ActionRequest): Promise<Answer> {
  // Such a path is that of the whole list, and DELETE would delete all objects in it.
  if (WITHOUT_NAME.test(request.path)) {
    const remedy = "Use up to 63 lower-case letters, digits and dashes.";
    throw new InvalidArgumentError(`Cannot ${action}: a name is empty or consists of dots`, { object, remedy });
  }
  const send = async () => {
    try {
      return await api.send(request);
    } catch (error) {
      request.signal?.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      const remedy = "Check the kubeconfig and its context, and whether the API server runs.";
      throw new ConnectionError(`Cannot ${action}: ${why}`, { object, cause: error, remedy, mayHaveArrived: true });
    }
  };
  return await withRetries(send, { repeatable: repeatable ?? request.method !== "POST", signal: request.signal });
}

/** What users can do if a namespace does not exist. */
export const NAMESPACE_ADVICE = "Create the namespace, or use another one.";

/** Converts a failed response of the API server to an error. */
export function errorOfKube(
  answer: Answer,
  { action, object }: Pick<ActionRequest, "action" | "object">,
): SandboxError {
  const message = `Cannot ${action}: ${messageOf(answer)}`;
  const { reason, details: statusDetails } = (answer.body ?? {}) as {
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
      if (isQuotaExceeded(message)) {
        const remedy =
          `Delete sandboxes that are not needed, or ask for more: kubectl describe quota -n ${object.namespace}`;
        return new QuotaExceededError(message, { ...details, reason: "QuotaExceeded", remedy });
      }
      return new AuthorizationError(message, { ...details, remedy: missingRightRemedy(message) });
    case 404:
      return notFound(action, messageOf(answer), details);
    case 409:
      return new ConflictError(message, details);
    case 429: {
      const retryAfterMs = statusDetails?.retryAfterSeconds === undefined
        ? undefined
        : statusDetails.retryAfterSeconds * 1000;
      return new RateLimitError(message, { ...details, retryAfterMs });
    }
    case 504:
      return new TimeoutError(message, details);
  }
  if (answer.status >= 500) return new ConnectionError(message, details);
  return new SandboxError(message, details);
}

/**
 * Creates the error for status 404. For a collection, this status means that the CRD is missing; for a new object, that
 * its namespace is missing.
 */
function notFound(
  action: string,
  statusMessage: string,
  details: { object: ObjectRef; reason: string | undefined },
): SandboxError {
  const message = `Cannot ${action}: ${statusMessage}`;
  const namespace = /^namespaces "([^"]+)" not found$/.exec(statusMessage)?.[1];
  if (namespace !== undefined) {
    const why = `namespace "${namespace}" does not exist`;
    return new NotFoundError(`Cannot ${action}: ${why}`, { ...details, remedy: NAMESPACE_ADVICE });
  }
  if (message.includes("could not find the requested resource")) {
    const remedy = "The cluster does not serve the Agent Sandbox API: install it with `hookbox install`.";
    return new NotFoundError(message, { ...details, remedy });
  }
  const isSandbox = details.object.kind === "SandboxClaim" || details.object.kind === "Sandbox";
  return isSandbox ? new SandboxNotFoundError(message, details) : new NotFoundError(message, details);
}

/** Source: responsewriters.Forbidden of k8s.io/apiserver 1.36. */
const FORBIDDEN =
  /User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;
const READING = ["get", "list", "watch"];
const OURS = ["agents.x-k8s.io", "extensions.agents.x-k8s.io"];

/** Returns which role to ask for (deploy/users/roles.yaml); undefined: no role has the right, or none is missing. */
function missingRightRemedy(message: string): string | undefined {
  const [, user = "", verb = "", resource = "", group = "", namespace] = FORBIDDEN.exec(message) ?? [];
  if (user === "") return undefined;
  if (resource === "pods/portforward") {
    return "Without the right to port-forward, use the router: the option `routerUrl`, or HOOKBOX_ROUTER_URL. " +
      `It requires the right to connect. ${askFor("hookbox-edit", user, namespace)}`;
  }
  if (READING.includes(verb)) return askFor("hookbox-view", user, namespace);
  return OURS.includes(group) ? askFor("hookbox-edit", user, namespace) : undefined;
}

function askFor(role: string, user: string, namespace: string | undefined): string {
  const binding = namespace === undefined ? "clusterrolebinding" : "rolebinding";
  const where = namespace === undefined ? "" : ` -n ${shellWord(namespace)}`;
  return `Ask for ClusterRole ${role}: kubectl create ${binding} NAME --clusterrole=${role} ${subjectOf(user)}${where}`;
}
