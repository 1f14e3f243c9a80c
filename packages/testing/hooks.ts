/** Runs the hooks in this process, in place of `fetch` for the fake Metacontroller. @module */
import { parseJson } from "../api/objects/exactjson.ts";
import type { Clock } from "../process/clock.ts";
import type { HookCalls } from "../webhook/hook.ts";
import { createLossBudget, type LossBudget } from "../webhook/lossbudget.ts";
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../hooks/all.ts";
import type { HookSettings } from "../../hooks/flags.ts";

export interface RunningHooks {
  /** Answers a call of a hook at once; used in place of `fetch`. */
  fetch(url: string, init: RequestInit): Response;
  /** Stops a hook and starts it again, which must have no visible effect. */
  restart(name: string): void;
  /** Errors inside hooks: exceptions, and answers that the loss guard refused. */
  faults: string[];
}

export interface HooksOptions {
  clock: Clock;
  /** Changes to the defaults of the command line. By default here, deletions per minute are not limited. */
  settings?: Partial<HookSettings>;
  /** Hooks that replace those with these names. */
  replacements?: Record<string, () => HookCalls>;
}

/** Starts all hooks with the given settings. */
export function startHooks({ clock, settings, replacements = {} }: HooksOptions): RunningHooks {
  const all = { ...DEFAULT_SETTINGS, maxLossesPerMinute: Infinity, ...settings };
  const start = (name: string): HookProcess => ({
    hook: replacements[name]?.() ?? makeHooks([name], all)[0] as HookCalls,
    budget: createLossBudget({ perMinute: all.maxLossesPerMinute, now: () => clock.now() }),
  });
  const processes = new Map(hookNames.map((name) => [name, start(name)]));
  const faults: string[] = [];
  return {
    faults,
    restart: (name) => void processes.set(name, start(name)),
    fetch(url, init) {
      const { hostname, pathname } = new URL(url);
      const asked = processes.get(hostname.split(".")[0] ?? "");
      return answerOf({ ...asked, path: pathname, now: new Date(clock.now()) }, String(init.body), faults);
    },
  };
}

/** The state of one hook, which would be in its own process in production. */
interface HookProcess {
  hook: HookCalls;
  budget: LossBudget;
}

interface Call extends Partial<HookProcess> {
  path: string;
  now: Date;
}

function answerOf({ hook, budget, path, now }: Call, body: string, faults: string[]): Response {
  try {
    if (path.endsWith("/customize")) return response(200, JSON.stringify(hook?.customize?.(JSON.parse(body))));
    const outcome = hook?.sync(parseJson(body), now, budget);
    if (outcome && "answer" in outcome) return response(200, JSON.stringify(outcome.answer));
    faults.push(`${hook?.name} was refused: ${outcome?.refusal.message}`);
    return response(429, "", { "retry-after": "30" });
  } catch (error) {
    faults.push(`${hook?.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    return response(500, "");
  }
}

/** Makes the parts of a Response that the caller reads. A real Response returns its text later. */
export function response(status: number, text: string, headers: Record<string, string> = {}): Response {
  return { status, headers: new Headers(headers), text: () => Promise.resolve(text) } as Response;
}
