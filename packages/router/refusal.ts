/** What the router answers in place of a sandbox, and why. Sends nothing. @module */
import { NOT_SENT, REASON_HEADER, SANDBOX_NOT_FOUND } from "../api/router/headers.ts";

/** An answer of the router's own; `detail` goes to the client and says the true cause. */
export interface Refusal {
  status: number;
  detail: string;
  headers?: Record<string, string>;
}

/** Refuses a request after an error of the router itself. Source of the text: Agent Sandbox API, section 7.2. */
export const INTERNAL: Refusal = { status: 500, detail: "An internal error occurred in the proxy." };

/** Tells a refusal from whatever else a function may return. */
export function isRefusal(value: object): value is Refusal {
  return "detail" in value;
}

/**
 * Refuses what went to a sandbox and was not answered, in the contract's words and with the cause. What became of it
 * nobody knows. Source: Agent Sandbox API, section 7.1.
 */
export function unanswered(name: string, cause: string): Refusal {
  return { status: 502, detail: `Could not connect to the backend sandbox: ${name}: ${cause}` };
}

/** Refuses what did not go to a sandbox, in the same words. */
export function unreachable(name: string, cause: string): Refusal {
  return { ...unanswered(name, cause), headers: { [REASON_HEADER]: NOT_SENT } };
}

/** Gives up waiting, in the contract's words and with the cause. Source: Agent Sandbox API, section 7.2. */
export function timedOut(name: string, cause: string): Refusal {
  return { status: 504, detail: `Timed out waiting for the backend sandbox: ${name}: ${cause}` };
}

/** Refuses what is not there, or not for anybody to reach by name. */
export function notFound(namespace: string, name: string, cause: string): Refusal {
  return {
    status: 404,
    detail: `Cannot find sandbox ${namespace}/${name}: ${cause}`,
    headers: { [REASON_HEADER]: SANDBOX_NOT_FOUND },
  };
}

/** Refuses a client that asks too often. @param seconds after which it may try again */
export function tooMany(detail: string, seconds: number): Refusal {
  return { status: 429, detail, headers: { "Retry-After": String(seconds) } };
}
