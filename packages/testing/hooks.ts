/** The hooks in this process, as an engine calls them, and as they can be started anew. @module */
import { parseJson } from "../api/objects/exactjson.ts";
import type { Clock } from "../process/clock.ts";
import type { HookCalls } from "../webhook/hook.ts";
import { createLossBudget, type LossBudget } from "../webhook/lossbudget.ts";
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../hooks/all.ts";
import type { HookSettings } from "../../hooks/flags.ts";

export interface RunningHooks {
  /** Answers at once; an engine takes it for `fetch`. */
  fetch(url: string, init: RequestInit): Response;
  /** Ends one hook and starts it again: nobody is to notice. */
  restart(name: string): void;
  /** What went wrong inside of hooks: refusals of the guard, and exceptions. */
  faults: string[];
}

export interface HooksOptions {
  clock: Clock;
  /** On top of the defaults of the command line, but that nothing limits what answers take away over time. */
  settings?: Partial<HookSettings>;
  /** In place of the hooks of these names. */
  replacements?: Record<string, () => HookCalls>;
}

/** Starts all hooks. */
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

/** What a process of its own would hold. */
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

/** As much of a Response as the engine reads: a real one takes its time to give its text. */
export function response(status: number, text: string, headers: Record<string, string> = {}): Response {
  return { status, headers: new Headers(headers), text: () => Promise.resolve(text) } as Response;
}
