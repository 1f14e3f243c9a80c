/** Classifies failures on the way to a sandbox, and decides when a request is sent again. @module */
import type { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import process from "node:process";
import { ROUTER_NAMESPACE } from "../../api/installation.ts";
import { OTHER_POD, REASON_HEADER } from "../../api/router/protocol.ts";
import type { Target } from "../destination.ts";
import { type Refusal, timedOut, unanswered, unreachable } from "../refusal.ts";
import { MAX_HEADER_BYTES, type ProxySettings } from "./exchange.ts";

/** Why there was no answer. Source: Agent Sandbox API, section 5.5 (`sandbox_router_upstream_errors_total`). */
export type FailureReason = "dial" | "timeout" | "eof" | "other";

/** Ends a request whose answer does not begin in time. */
export const ANSWER_TIMEOUT = new Error("silence");

/** Ends a request that gets too many informational answers (1xx) instead of the final one. */
export const TOO_MANY_INFORMATIONAL = new Error("too many informational answers");

const NEVER_DIALLED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "EADDRNOTAVAIL"]);

/** Tells whether an error means that there was no connection, so that nothing was sent. */
export function isDialFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "connect" || code === "EDIALTIMEOUT" || (code !== undefined && NEVER_DIALLED.has(code));
}

/** Classifies an error for the metrics. */
export function reasonOf(error: Error): FailureReason {
  if (isDialFailure(error)) return "dial";
  if (error === ANSWER_TIMEOUT) return "timeout";
  return isClosedByPeer(error) ? "eof" : "other";
}

/** Returns a refusal with the cause, without addresses. */
export function refusalOf(
  name: string,
  error: Error,
  { responseHeaderTimeout }: { responseHeaderTimeout: number },
): Refusal {
  if (error === ANSWER_TIMEOUT) return timedOut(name, `no answer within ${responseHeaderTimeout / 1000} s`);
  if (error === TOO_MANY_INFORMATIONAL) return unanswered(name, "it sent informational answers without end");
  if (!isDialFailure(error)) return unanswered(name, causeOf(error));
  const refusal = unreachable(name, causeOf(error));
  if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") return { ...refusal, state: "port closed" };
  return isDialTimeout(error) ? { ...refusal, remedy: MAYBE_POLICY } : refusal;
}

const MAYBE_POLICY =
  "If its Pod runs, a NetworkPolicy may keep the router out: those of templates allow Pods with the label " +
  `app=sandbox-router in namespace ${ROUTER_NAMESPACE}. To look: kubectl get networkpolicy -A`;

function isDialTimeout(error: Error | undefined): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "EDIALTIMEOUT";
}

function causeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") return "nothing listens on the port";
  if (isDialTimeout(error)) return error.message;
  if (isClosedByPeer(error)) return "it closed the connection before it answered";
  if (code === "HPE_HEADER_OVERFLOW") return `its answer has more than ${MAX_HEADER_BYTES / 1024} KiB of headers`;
  if (code?.startsWith("HPE_")) return "its answer is not HTTP";
  return code ?? error.message;
}

export const UNREQUESTED_UPGRADE = "it sent an unrequested protocol upgrade";

/** Returns why an answer must not be passed to a client; undefined: it is valid. */
export function invalidAnswer(
  { statusCode = 0, headers }: Pick<IncomingMessage, "statusCode" | "headers">,
): string | undefined {
  // If the answer has no Upgrade header, node:http treats it like any other answer.
  if (statusCode === 101) return UNREQUESTED_UPGRADE;
  if (statusCode < 200) return "it sent an invalid HTTP response";
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding.toLowerCase() === "chunked") return undefined;
  return `its answer has the transfer coding "${coding}"`;
}

function isClosedByPeer(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}

/** Most informational answers (1xx) before the final one. */
const MOST_INFORMATIONAL = 16;

/**
 * Ends a request after `responseHeaderTimeout` milliseconds of silence, if the answer does not begin within that time
 * after the request's end, or after too many informational answers.
 */
export function awaitHead(outgoing: ClientRequest, responseHeaderTimeout: number): void {
  let isAnswered = false;
  let timer: NodeJS.Timeout | undefined;
  let informational = 0;
  const stop = () => {
    isAnswered = true;
    clearTimeout(timer);
  };
  const endAtTimeout = () => outgoing.destroy(ANSWER_TIMEOUT);
  outgoing.once("timeout", endAtTimeout);
  // Any data ends the silence: a part of a head, or 1xx answers without end. So this timer runs in addition.
  outgoing.once("finish", () => {
    if (!isAnswered && responseHeaderTimeout > 0) timer = setTimeout(endAtTimeout, responseHeaderTimeout);
  });
  const end = () => isAnswered || outgoing.destroy(TOO_MANY_INFORMATIONAL);
  outgoing.on("information", () => {
    // Not before the rest is parsed: if a protocol switch follows, node:http has no listener for the error yet.
    if (++informational === MOST_INFORMATIONAL + 1) process.nextTick(end);
  });
  outgoing.once("response", stop).once("upgrade", stop).once("close", stop);
}

/** A request that may be tried again. */
interface RetriedRequest {
  target: Target;
  settings: ProxySettings;
  /** The address that was tried last. */
  podIP: string;
  tries: number;
  /** The client has disconnected or has its answer: nothing more is sent. */
  isOver: boolean;
  locate(signal: AbortSignal): Promise<string | Refusal>;
  mayNotListenYet(): boolean;
}

/** How a request continues: with an attempt at an address, or with a refusal. */
interface RetrySteps<State> {
  attempt(state: State, address: string): void;
  refuse(state: State, refusal: Refusal): void;
}

/**
 * Tells whether to try again after a connection could not be made: up to `settings.upstreamMaxRetries` times, and longer if the
 * sandbox has just woken and its app may not listen yet.
 */
export function mayTryAgain(
  { tries, settings, mayNotListenYet }: Pick<RetriedRequest, "tries" | "settings" | "mayNotListenYet">,
  error: Error,
): boolean {
  if (tries < settings.upstreamMaxRetries) return true;
  return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" && mayNotListenYet();
}

/** Returns the delay before another try, in milliseconds: doubled each time, up to the longest. */
export function delayOf({ upstreamRetryInitialDelay, upstreamRetryMaxDelay }: ProxySettings, tries: number): number {
  return Math.min(upstreamRetryInitialDelay * 2 ** tries, upstreamRetryMaxDelay);
}

/**
 * Looks up the address again after `delayMs`, then calls `attempt` with it, or `refuse` if there is none. After a dial
 * timeout, it also refuses if the address is the same: the kernel has tried to connect several times.
 *
 * @param client the lookup ends when it closes
 * @param error why the last try failed, if there was no connection
 */
export function retry<State extends RetriedRequest>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  delayMs: number,
  next: RetrySteps<State>,
  error?: Error,
): void {
  state.tries++;
  state.settings.onRetry(state.target);
  setTimeout(async () => {
    if (state.isOver) return;
    const gone = new AbortController();
    const abort = () => gone.abort();
    client.once("close", abort);
    const address = await state.locate(gone.signal);
    client.off("close", abort);
    if (state.isOver) return;
    if (error && isDialTimeout(error) && address === state.podIP) {
      state.settings.onUpstreamError(state.target, reasonOf(error));
      return next.refuse(state, refusalOf(state.target.name, error, state.settings));
    }
    if (typeof address === "string") next.attempt(state, address);
    else next.refuse(state, address);
  }, delayMs);
}

/**
 * Tells whether another Pod, which now has the address, has refused the request because it is for the earlier Pod. Only
 * a runtime that knows its Pod refuses like this, and it has not processed the request.
 */
export function isMisdirected({ statusCode, headers }: Pick<IncomingMessage, "statusCode" | "headers">): boolean {
  return statusCode === 421 && headers[REASON_HEADER.toLowerCase()] === OTHER_POD;
}

/** Refuses a request that another Pod has refused and that cannot be sent again. */
export function misdirected(name: string): Refusal {
  return unreachable(name, "another Pod has its address by now");
}

/**
 * Tries again after the API server has listed the sandbox's Pods. Refuses the request after the usual number of tries.
 */
export function retryElsewhere<State extends RetriedRequest>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  next: RetrySteps<State>,
): void {
  const { settings, target } = state;
  if (state.tries >= settings.upstreamMaxRetries) return next.refuse(state, misdirected(target.name));
  settings.refreshPods(target).then(() => retry(state, client, delayOf(settings, state.tries), next));
}
