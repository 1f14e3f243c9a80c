/** Decides when a request to a sandbox is sent again, and to which address. @module */
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { OTHER_POD, REASON_HEADER } from "../../api/router/headers.ts";
import type { Target } from "../destination.ts";
import { type Refusal, unreachable } from "../refusal.ts";
import type { ProxySettings } from "./settings.ts";

/** A request that may be tried again. */
export interface Retried {
  target: Target;
  settings: ProxySettings;
  tries: number;
  /** The client has disconnected or has its answer: nothing more is sent. */
  isOver: boolean;
  locate(signal: AbortSignal): Promise<string | Refusal>;
  mayYetListen(): boolean;
}

/** How a request continues: with an attempt at an address, or with a refusal. */
interface Next<State> {
  attempt(state: State, address: string): void;
  refuse(state: State, refusal: Refusal): void;
}

/**
 * Tells whether to try again after a connection could not be made: up to `settings.upstreamMaxRetries` times, and longer if the
 * sandbox has just woken and its app may not listen yet.
 */
export function mayTryAgain(
  { tries, settings, mayYetListen }: Pick<Retried, "tries" | "settings" | "mayYetListen">,
  error: Error,
): boolean {
  if (tries < settings.upstreamMaxRetries) return true;
  return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" && mayYetListen();
}

/** Returns the delay before another try, in milliseconds: doubled each time, up to the longest. */
export function delayOf({ upstreamRetryInitialDelay, upstreamRetryMaxDelay }: ProxySettings, tries: number): number {
  return Math.min(upstreamRetryInitialDelay * 2 ** tries, upstreamRetryMaxDelay);
}

/**
 * Looks up the address again after `delayMs`, then calls `attempt` with it, or `refuse` if there is none.
 *
 * @param client the lookup ends when it closes
 */
export function retry<State extends Retried>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  delayMs: number,
  next: Next<State>,
): void {
  state.tries++;
  state.settings.onRetry(state.target);
  setTimeout(async () => {
    if (state.isOver) return;
    const gone = new AbortController();
    const abort = () => gone.abort();
    client.once("close", abort);
    const place = await state.locate(gone.signal);
    client.off("close", abort);
    if (state.isOver) return;
    if (typeof place === "string") next.attempt(state, place);
    else next.refuse(state, place);
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
export function retryElsewhere<State extends Retried>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  next: Next<State>,
): void {
  const { settings, target } = state;
  if (state.tries >= settings.upstreamMaxRetries) return next.refuse(state, misdirected(target.name));
  settings.lookAgain(target).then(() => retry(state, client, delayOf(settings, state.tries), next));
}
