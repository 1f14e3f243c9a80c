/** Runs the hooks, the binder and the keeper in this process, with the cluster's clock. @module */
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../hooks/all.ts";
import type { HookSettings } from "../../hooks/flags.ts";
import { DEFAULT_LABEL_DOMAINS } from "../api/claims/podmetadata.ts";
import { parseJson } from "../api/objects/json.ts";
import type { TemplatePolicy } from "../api/templatepolicy.ts";
import { createBinding, watchFor } from "../binder/binder.ts";
import type { Deliver } from "../binder/state.ts";
import { keep } from "../keeper/keep.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import type { HookCalls } from "../webhook/hook.ts";
import { createDeletionBudget, type LossBudget, UNLIMITED } from "../process/deletionbudget.ts";
import type { MemoryApi } from "./api/memoryapi.ts";

export interface RunningHooks {
  /** Answers a call of a hook at once; used in place of `fetch`. */
  fetch(url: string, init: RequestInit): Response;
  /** Stops a hook and starts it again, which must have no visible effect. */
  restart(name: string): void;
  /** Errors inside hooks: exceptions, and answers that the loss guard refused. */
  faults: string[];
}

interface HooksOptions {
  clock: Clock;
  /** Changes to the defaults of the command line. By default here, deletions per minute are not limited. */
  settings?: Partial<HookSettings>;
  /** Hooks that replace those with these names. */
  replacements?: Record<string, () => HookCalls>;
}

export interface RunningBinder {
  /** Errors, one line each. */
  faults: string[];
  /** Resolves when the binder has listed all objects; if it leads, it then serves claims. */
  listed: Promise<void>;
  stop(): Promise<void>;
}

/** Starts all hooks with the given settings. */
export function startHooks({ clock, settings, replacements = {} }: HooksOptions): RunningHooks {
  const all = { ...DEFAULT_SETTINGS, maxLossesPerMinute: Infinity, ...settings };
  const start = (name: string): HookProcess => ({
    hook: replacements[name]?.() ?? makeHooks([name], all)[0] as HookCalls,
    budget: createDeletionBudget({ perMinute: all.maxLossesPerMinute, now: () => clock.now() }),
  });
  const processes = new Map(hookNames.map((name) => [name, start(name)]));
  const faults: string[] = [];
  return {
    faults,
    restart: (name) => void processes.set(name, start(name)),
    fetch(url, init) {
      const { hostname, pathname } = new URL(url);
      const called = processes.get(hostname.split(".")[0] ?? "");
      return answerOf({ ...called, path: pathname, now: new Date(clock.now()) }, String(init.body), faults);
    },
  };
}

/** Makes the parts of a Response that the caller reads. A real Response returns its text later. */
export function response(status: number, text: string, headers: Record<string, string> = {}): Response {
  return { status, headers: new Headers(headers), text: () => Promise.resolve(text) } as Response;
}

/**
 * Starts the binder.
 *
 * @param api a separate connection, because `stop` ends all watches on it
 * @param leads resolves when the binder begins to serve claims; until then it only watches
 * @param templateNetworkPolicy whether a sandbox needs its template's NetworkPolicy to start; `optional` if no hook
 * creates them
 */
export function startBinder(
  api: MemoryApi,
  clock: Clock,
  leads: Promise<void> = Promise.resolve(),
  templateNetworkPolicy: TemplatePolicy = "optional",
  deliver: Deliver = () => Promise.resolve(),
): RunningBinder {
  const faults: string[] = [];
  const ending = new AbortController();
  const listed = Promise.withResolvers<void>();
  const log: Log = (level, message, { error } = {}) => {
    if (level === "error" || level === "warn") faults.push(`binder: ${message}${error ? `: ${error}` : ""}`);
  };
  const allowedLabelDomains = DEFAULT_LABEL_DOMAINS;
  const binding = createBinding(api, { allowedLabelDomains, templateNetworkPolicy, clock, log, deliver });
  const onListed = () => {
    binding.listed();
    listed.resolve();
  };
  const watching = watchFor({ ...binding, listed: onListed }, api, log, ending.signal);
  const serving = leads.then(() => binding.serve(ending.signal));
  return {
    faults,
    listed: listed.promise,
    async stop() {
      ending.abort();
      api.endWatches();
      await Promise.all([serving, watching]);
    },
  };
}

/**
 * Starts the keeper.
 *
 * @param api a separate connection, because `stop` ends all watches on it
 */
export function startKeeper(api: MemoryApi, clock: Clock): RunningKeeper {
  const faults: string[] = [];
  const ending = new AbortController();
  const listed = Promise.withResolvers<void>();
  const ended = keep(api, {
    allowedLabelDomains: DEFAULT_LABEL_DOMAINS,
    clock,
    budget: UNLIMITED,
    log(level, message, { error } = {}) {
      if (level === "error" || level === "warn") faults.push(`keeper: ${message}${error ? `: ${error}` : ""}`);
    },
    reportFor: () => () => {},
    onListed: listed.resolve,
  }, ending.signal);
  return {
    faults,
    listed: listed.promise,
    async stop() {
      ending.abort();
      api.endWatches();
      await ended;
    },
  };
}

/** The state of one hook, which would be in its own process in production. */
interface HookProcess {
  hook: HookCalls;
  budget: LossBudget;
}

interface HookCall extends Partial<HookProcess> {
  path: string;
  now: Date;
}

function answerOf({ hook, budget, path, now }: HookCall, body: string, faults: string[]): Response {
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

interface RunningKeeper {
  /** Errors, one line each. */
  faults: string[];
  /** Resolves when the keeper has listed all objects. */
  listed: Promise<void>;
  stop(): Promise<void>;
}
