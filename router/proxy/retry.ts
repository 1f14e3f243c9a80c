/** Another try where no connection came about: nothing has been sent by then. @module */
import type { Refusal } from "../refusal.ts";
import type { Target } from "../destination/target.ts";
import type { ProxySettings } from "./settings.ts";

/** A request that may be tried again. */
export interface Retried {
  target: Target;
  settings: ProxySettings;
  tries: number;
  /** Nobody waits for it any more. */
  isOver: boolean;
  locate(): Promise<string | Refusal>;
}

/** Returns the wait before another try, in milliseconds: twice as long each time, up to the longest. */
export function delayOf({ firstDelayMs, longestDelayMs }: ProxySettings, tries: number): number {
  return Math.min(firstDelayMs * 2 ** tries, longestDelayMs);
}

/** Finds the address anew after `delayMs` and goes on with it, or with why there is none. */
export function retry<State extends Retried>(
  state: State,
  delayMs: number,
  next: { attempt(state: State, address: string): void; refuse(state: State, refusal: Refusal): void },
): void {
  state.tries++;
  state.settings.onRetry(state.target);
  setTimeout(async () => {
    if (state.isOver) return;
    const place = await state.locate();
    if (state.isOver) return;
    if (typeof place === "string") next.attempt(state, place);
    else next.refuse(state, place);
  }, delayMs);
}
