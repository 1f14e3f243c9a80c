/** Why a request got no answer, and whether it can have arrived. Knows Node's, Deno's and browsers' ways to say so. @module */
import { ConnectionError, type ObjectRef } from "../errors.ts";

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
export function connectionError(error: unknown, where: string, object: ObjectRef): ConnectionError {
  const cause = innermost(error);
  const code = (cause as { code?: unknown }).code;
  const words = `${(error as Error).message} ${(cause as Error).message}`;
  const mayHaveArrived = !(NEVER_CONNECTED.has(String(code)) || NEVER_CONNECTED_WORDS.test(words));
  const why = (cause as Error).message || String(code);
  return new ConnectionError(`Cannot reach ${where}: ${why}`, { object, cause: error, mayHaveArrived });
}

/** Node wraps the cause, and wraps several of them once more. */
function innermost(error: unknown): unknown {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown[] };
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? error : innermost(inner);
}
