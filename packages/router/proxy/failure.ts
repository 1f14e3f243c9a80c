/** What an error on the way to a sandbox means, for the client and for the metrics, and which answers are none. Pure. @module */
import type { IncomingMessage } from "node:http";
import { type Refusal, timedOut, unanswered, unreachable } from "../refusal.ts";
import { MOST_HEADER_BYTES } from "./settings.ts";

/** Why no answer came. Source: Agent Sandbox API, section 5.5 (`sandbox_router_upstream_errors_total`). */
export type FailureReason = "dial" | "timeout" | "eof" | "other";

/** What a request is ended with whose answer does not begin in time. */
export const SILENCE = new Error("silence");

/** What a request is ended with whose answer is put off by one informational answer after the other. */
export const CHATTER = new Error("too many informational answers");

const NEVER_DIALLED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "EADDRNOTAVAIL"]);

/** Tells whether an error means that no connection came about, so that nothing was sent. */
export function isDialFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "connect" || code === "EDIALTIMEOUT" || (code !== undefined && NEVER_DIALLED.has(code));
}

/** Sorts an error. */
export function reasonOf(error: Error): FailureReason {
  if (isDialFailure(error)) return "dial";
  if (error === SILENCE) return "timeout";
  return isHangUp(error) ? "eof" : "other";
}

/** Says what went wrong without naming addresses. */
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

/** Says why no client gets such an answer; undefined: it does. */
export function unfit(
  { statusCode = 0, headers }: Pick<IncomingMessage, "statusCode" | "headers">,
): string | undefined {
  // Without a word of what it switches to, node:http takes that for an answer like any other.
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
