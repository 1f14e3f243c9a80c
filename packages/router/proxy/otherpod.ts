/** Requests that another Pod has refused because they are not for it: it has an address that the sandbox's Pod had before. @module */
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { OTHER_POD, REASON_HEADER } from "../../api/router/headers.ts";
import { type Refusal, unreachable } from "../refusal.ts";
import { delayOf, type Retried, retry } from "./dial.ts";

/** Tells whether an answer is such a refusal, of which only a runtime that knows its Pod is capable. Nothing was carried out. */
export function isMisdirected({ statusCode, headers }: Pick<IncomingMessage, "statusCode" | "headers">): boolean {
  return statusCode === 421 && headers[REASON_HEADER.toLowerCase()] === OTHER_POD;
}

/** Refuses what cannot be sent once more. */
export function misdirected(name: string): Refusal {
  return unreachable(name, "another Pod has its address by now");
}

/** Tries again once the API server has said where the sandbox's Pods are; refuses it after as many tries as others get. */
export function retryElsewhere<State extends Retried>(
  state: State,
  client: Pick<EventEmitter, "once" | "off">,
  next: { attempt(state: State, address: string): void; refuse(state: State, refusal: Refusal): void },
): void {
  const { settings, target } = state;
  if (state.tries >= settings.retries) return next.refuse(state, misdirected(target.name));
  settings.lookAgain(target).then(() => retry(state, client, delayOf(settings, state.tries), next));
}
