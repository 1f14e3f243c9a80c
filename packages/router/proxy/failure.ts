/**
 * Classifies errors on the way to a sandbox, for the client and for the metrics, and finds invalid answers. Pure.
 * @module
 */
import type { IncomingMessage } from "node:http";
import { type Refusal, timedOut, unanswered, unreachable } from "../refusal.ts";
import { MOST_HEADER_BYTES } from "./settings.ts";

/** Why there was no answer. Source: Agent Sandbox API, section 5.5 (`sandbox_router_upstream_errors_total`). */
export type FailureReason = "dial" | "timeout" | "eof" | "other";

/** Ends a request whose answer does not begin in time. */
export const SILENCE = new Error("silence");

/** Ends a request that gets too many informational answers (1xx) instead of the final one. */
export const CHATTER = new Error("too many informational answers");

const NEVER_DIALLED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "EADDRNOTAVAIL"]);

/** Tells whether an error means that there was no connection, so that nothing was sent. */
export function isDialFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "connect" || code === "EDIALTIMEOUT" || (code !== undefined && NEVER_DIALLED.has(code));
}

/** Classifies an error for the metrics. */
export function reasonOf(error: Error): FailureReason {
  if (isDialFailure(error)) return "dial";
  if (error === SILENCE) return "timeout";
  return isHangUp(error) ? "eof" : "other";
}

/** Returns a refusal with the cause, without addresses. */
export function refusalOf(
  name: string,
  error: Error,
  { responseHeaderTimeout }: { responseHeaderTimeout: number },
): Refusal {
  if (error === SILENCE) return timedOut(name, `no answer within ${responseHeaderTimeout / 1000} s`);
  if (error === CHATTER) return unanswered(name, "it sent informational answers without end");
  return isDialFailure(error) ? unreachable(name, causeOf(error)) : unanswered(name, causeOf(error));
}

function causeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") return "nothing listens on the port";
  if (code === "EDIALTIMEOUT") return error.message;
  if (isHangUp(error)) return "it closed the connection before it answered";
  if (code === "HPE_HEADER_OVERFLOW") return `its answer has more than ${MOST_HEADER_BYTES / 1024} KiB of headers`;
  if (code?.startsWith("HPE_")) return "its answer is not HTTP";
  return code ?? error.message;
}

export const UNASKED = "it sent an unrequested protocol upgrade";

/** Returns why an answer must not be passed to a client; undefined: it is valid. */
export function unfit(
  { statusCode = 0, headers }: Pick<IncomingMessage, "statusCode" | "headers">,
): string | undefined {
  // If the answer has no Upgrade header, node:http treats it like any other answer.
  if (statusCode === 101) return UNASKED;
  if (statusCode < 200) return "it sent an invalid HTTP response";
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding.toLowerCase() === "chunked") return undefined;
  return `its answer has the transfer coding "${coding}"`;
}

function isHangUp(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}
