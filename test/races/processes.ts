/** The four hooks as processes that an engine calls, and that can be started anew with empty memories. @module */
import type { Fetch } from "../../dev/metacontroller/hook.ts";
import type { Clock } from "../../dev/metacontroller/store.ts";
import type { HookCalls } from "../../lib/hook.ts";
import { type HookSettings, readSettings } from "../../lib/runhook.ts";
import { hookNames, makeHooks } from "../../tools/serve/hooks.ts";
import { pause, type Weather } from "./weather.ts";

export interface Processes {
  fetch: Fetch;
  /** Ends one hook and starts it again: it has forgotten everything. */
  restart(name: string): void;
  /** What went wrong inside of hooks: refusals of the guard, and exceptions. */
  faults: string[];
}

/** Share of children that the guard lets go without a reason: none, so that every deletion has one. */
const SHARE = 0;

/** Starts all hooks. @param settings on top of the defaults of the command line */
export function startProcesses(clock: Clock, weather: Weather, settings: Partial<HookSettings>): Processes {
  const all = { ...readSettings([]).settings, ...settings };
  const start = (name: string) => makeHooks([name], all)[0] as HookCalls;
  const hooks = new Map(hookNames.map((name) => [name, start(name)]));
  const faults: string[] = [];
  return {
    faults,
    restart: (name) => void hooks.set(name, start(name)),
    async fetch(url, init) {
      const { hostname, pathname } = new URL(url);
      const name = hostname.split(".")[0] ?? "";
      const { delayMs, outcome } = weather.call();
      await pause(clock, Math.floor(delayMs / 2));
      const body = String(init.body);
      const ask = () => answerOf(hooks.get(name), pathname, body, new Date(clock.now()), faults);
      if (outcome === "twice") ask();
      const answer = ask();
      await pause(clock, Math.ceil(delayMs / 2));
      return outcome === "lost" ? response(500, "") : answer;
    },
  };
}

function answerOf(hook: HookCalls | undefined, path: string, body: string, now: Date, faults: string[]): Response {
  try {
    if (path === "/customize") return response(200, JSON.stringify(hook?.customize?.(JSON.parse(body))));
    const outcome = hook?.sync(JSON.parse(body), now, SHARE);
    if (outcome && "answer" in outcome) return response(200, JSON.stringify(outcome.answer));
    faults.push(`${hook?.name} was refused: ${outcome?.refusal.message}`);
    return response(429, "", { "retry-after": "30" });
  } catch (error) {
    faults.push(`${hook?.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    return response(500, "");
  }
}

/** As much of a Response as the engine reads: a real one takes its time to give its text. */
function response(status: number, text: string, headers: Record<string, string> = {}): Response {
  return { status, headers: new Headers(headers), text: () => Promise.resolve(text) } as Response;
}
