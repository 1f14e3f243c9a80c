/** The hooks as Metacontroller reaches them in this weather: late, twice, or with an answer that gets lost. @module */
import type { Fetch } from "../../packages/testing/metacontroller/hook.ts";
import type { Clock } from "../../packages/process/clock.ts";
import { response, type RunningHooks } from "../../packages/testing/processes.ts";
import { pause, type Weather } from "./weather.ts";

/** Wraps the calls of hooks. */
export function weatheredFetch(hooks: RunningHooks, clock: Clock, weather: Weather): Fetch {
  return async (url, init) => {
    const { delayMs, outcome } = weather.call();
    await pause(clock, Math.floor(delayMs / 2));
    if (outcome === "twice") hooks.fetch(url, init);
    const answer = hooks.fetch(url, init);
    await pause(clock, Math.ceil(delayMs / 2));
    return outcome === "lost" ? response(500, "") : answer;
  };
}
