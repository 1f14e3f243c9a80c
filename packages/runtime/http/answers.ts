/** Error responses of port 8080: `{code, message}` with their status, and no internal paths. @module */
import type { Context } from "hono";
import { codeOf } from "../confine.ts";
import { type RefusalCode, type Refused, refusedFor } from "../files/refused.ts";
import { errorFields, type Log } from "../../process/log.ts";

const STATUS = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  UNIMPLEMENTED: 405,
  CONFLICT: 409,
  RESOURCE_EXHAUSTED: 413,
  OUT_OF_RANGE: 416,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const satisfies Record<RefusalCode, number>;

/** Returns the HTTP status of an error. */
export function statusOf({ code }: Refused): number {
  return STATUS[code];
}

/** Creates an error response. */
export function refuse(code: RefusalCode, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ code, message }, { status: STATUS[code], headers });
}

/** Answers an error. Internal errors are logged, and the caller gets only a general message. */
export function answerError(error: unknown, c: Context, log: Log): Response {
  const refused = refusedFor(error, wantedOf(c));
  if (refused) return refuse(refused.code, refused.message);
  logFault(error, c, log);
  return refuse("INTERNAL", "Cannot answer: internal error, see the runtime's log");
}

/** Logs an internal error. A client that disconnected is logged only at level debug. */
export function logFault(error: unknown, c: Context, log: Log): void {
  const level = codeOf(error) === "ECONNRESET" ? "debug" : "error";
  log(level, "Request failed", { method: c.req.method, path: c.req.path, ...errorFields(error) });
}

/** Returns the path in the caller's request, for messages. */
function wantedOf(c: Context): string {
  const encoded = c.req.path.replace(/^\/v1\/[a-z]+\/?/, "");
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
