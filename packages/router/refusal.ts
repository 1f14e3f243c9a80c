/** Error answers of the router itself: status, text and headers. @module */
import { NOT_SENT, REASON_HEADER, SANDBOX_NOT_FOUND } from "../api/router/protocol.ts";

/** An answer of the router itself. The client sees `detail`, which states the cause. */
export interface Refusal {
  status: number;
  detail: string;
  /** What the client or its administrator can do; absent: `detail` says enough. */
  remedy?: string;
  /**
   * Why a sandbox that exists cannot answer: nothing listens on the port, or it is suspended and the request does not
   * wake it. Absent: another reason.
   */
  state?: "port closed" | "suspended";
  headers?: Record<string, string>;
}

/** Refuses a request after an error of the router itself. Source of the text: Agent Sandbox API, section 7.2. */
export const INTERNAL: Refusal = { status: 500, detail: "An internal error occurred in the proxy." };

/** True if `value` is a refusal. */
export function isRefusal(value: object): value is Refusal {
  return "detail" in value;
}

/**
 * Refuses a client without a valid token. Source of the texts: Agent Sandbox API, section 7.2.
 *
 * @param valid tells which tokens are valid, as a part of a sentence; undefined: the client knows
 */
export function unauthorized(token: string | undefined, valid?: string): Refusal {
  const detail = token === undefined ? "Missing or invalid Authorization header." : "Invalid token.";
  const remedy = valid === undefined ? {} : { remedy: `Send the header "Authorization: Bearer TOKEN": ${valid}.` };
  return { status: 401, detail, ...remedy, headers: { "WWW-Authenticate": "Bearer" } };
}

/** Refuses a client if it is not known, for now, whether it needs a token. @param cause as a part of a sentence */
export function undecided(cause: string): Refusal {
  return { status: 503, detail: `Cannot find out whether this client needs a token: ${cause}.` };
}

/**
 * Refuses a request that was sent to a sandbox but got no answer. The sandbox may have processed the request. Source of
 * the text before the cause: Agent Sandbox API, section 7.1.
 */
export function unanswered(name: string, cause: string): Refusal {
  return { status: 502, detail: `Could not connect to the backend sandbox: ${name}: ${cause}` };
}

/** Refuses a request that was not sent to a sandbox, with the same text; a header says that the client may retry. */
export function unreachable(name: string, cause: string): Refusal {
  return { ...unanswered(name, cause), headers: { [REASON_HEADER]: NOT_SENT } };
}

/** Refuses a request that waited too long for its sandbox. Source of the text: Agent Sandbox API, section 7.2. */
export function timedOut(name: string, cause: string): Refusal {
  return { status: 504, detail: `Timed out waiting for the backend sandbox: ${name}: ${cause}` };
}

/** Refuses a request for a sandbox that does not exist or that clients must not reach by name. */
export function notFound(namespace: string, name: string, cause: string): Refusal {
  return {
    status: 404,
    detail: `Cannot find sandbox ${namespace}/${name}: ${cause}`,
    headers: { [REASON_HEADER]: SANDBOX_NOT_FOUND },
  };
}

/** Refuses a client that sends too many requests. @param seconds when the client may try again */
export function tooMany(detail: string, seconds: number): Refusal {
  return { status: 429, detail, headers: { "Retry-After": String(seconds) } };
}
