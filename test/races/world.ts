/** Runs one scenario from beginning to rest: the real hooks and the fake Metacontroller, on a store in memory and a fake clock. @module */
import type { FakeClock } from "../../packages/testing/clock.ts";
import { type MemoryStore, objectsOf } from "../../packages/testing/store/memory.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { DEFAULT_SETTINGS, makeHooks } from "../../hooks/all.ts";
import { startHooks } from "../../packages/testing/processes.ts";
import { startKubelet } from "../../packages/testing/kubelet.ts";
import { createMemoryServer } from "../../packages/testing/server.ts";
import { type Act, aPool, aTemplate, NAMESPACE, perform } from "./acts.ts";
import { createFates, type Fate } from "./fates.ts";
import { createHistory, type Doubled } from "./history.ts";
import { weatheredFetch } from "./lateness.ts";
import { startProcesses } from "./processes.ts";
import { faultsAtRest } from "./rest.ts";
import type { Notice } from "./surroundings.ts";
import { readyOf, statusOf } from "./shown.ts";
import { onClock } from "./timers.ts";
import type { Variant } from "./variant.ts";
import { createWeather, type Forecast, type Watcher } from "./weather.ts";

/** What happens in a run; `wait` is in milliseconds, before the act. */
export interface Scenario {
  replicas: number;
  acts: (Act & { wait: number })[];
  fates: Fate[];
  forecast: Forecast;
  /** Whether our CRDs are installed, which give objects a first status; others do not. @default {true} */
  isPreset?: boolean;
  /** Whether Sandboxes have a volume. @default {false} */
  hasVolumes?: boolean;
  /** Processes that run twice until the weather clears. @default {[]} */
  doubles?: Watcher[];
}

export interface Outcome {
  /** What must never happen, and did. */
  violations: string[];
  /** What is wrong at rest. */
  atRest: string[];
  /** Exceptions in hooks, answers that the guard refused, and what binder and keeper complain of but the weather. */
  faults: string[];
  /** What engine, binder and keeper wrote, as `<verb> <kind> <name>`; what changed nothing is not there. */
  writes: string[];
  store: MemoryStore;
}

export const CALM: Forecast = { requestMs: [2], answerMs: [2], troubles: [], mishaps: [], lags: [] };
const SETTINGS = { readinessGraceSeconds: 3 };
const STORM_MS = 4000;
/** Long enough for all to come to rest, shorter than what would hide a lost wake-up: the pool's look each minute. */
const REST_MS = 30_000;
/** How often a pool is looked at in any case. */
const MINUTE_MS = 60_000;
/** What is at rest writes nothing for so long: longer than any look that comes by itself. */
const SILENCE_MS = 90_000;

/** Runs a scenario. @param variant what is not the product's @default {{}} */
export async function run(scenario: Scenario, variant: Variant = {}): Promise<Outcome> {
  const { replicas, acts, fates, forecast, isPreset, hasVolumes = false, doubles = [] } = scenario;
  const start = Date.parse("2026-01-01T00:00:00Z");
  const weather = createWeather(forecast, () => store.clock.now() - start);
  const server = await createMemoryServer({ isPreset, namespaces: [NAMESPACE] });
  const { store } = server;
  const { clock } = store;
  const doubled = doubledIn(scenario);
  const history = createHistory(server, doubled);
  const { fateOf, sick } = createFates(fates);
  await startKubelet(store, fateOf);
  const hooks = startHooks({ clock, settings: SETTINGS, replacements: replacementsOf(variant) });
  const fetch = weatheredFetch(hooks, clock, weather);
  await store.put(aTemplate(0, hasVolumes));
  await store.put(aPool(replicas));
  history.look();
  const writes: string[] = [];
  const notice: Notice = (before, after, verb, by) => {
    const { kind, metadata } = before ?? after ?? { kind: "", metadata: { name: "" } };
    if (before?.metadata.resourceVersion !== after?.metadata.resourceVersion) {
      writes.push(`${verb} ${kind} ${metadata.name}`);
    }
    history.notice(before, after, verb, by);
  };
  return await onClock(clock, async () => {
    const processes = startProcesses(server, { fetch, weather, notice, variant });
    doubles.forEach(processes.double);
    for (const { wait, ...act } of acts) {
      await clock.advance(wait);
      if (act.act === "restartHook") hooks.restart(act.hook);
      else if (act.act === "restartEngine") processes.restart("engine", act.overlap);
      else if (act.act === "restartBinder") processes.restart("binder", act.overlap);
      else if (act.act === "restartKeeper") processes.restart("keeper", act.overlap);
      else await perform(store, act);
      history.look();
    }
    await clock.advance(STORM_MS);
    weather.clear();
    processes.undouble();
    await clock.advance(REST_MS);
    const atRest = faultsAtRest(store, sick, doubled.engine);
    const lossy = tellingOfLosses(store);
    if (doubled.engine || lossy.length > 0) {
      const late = await writesOf(clock, writes, MINUTE_MS);
      atRest.push(...without(late, lossy).filter((write) => !doubled.engine || !isPoolStatus(write)));
    }
    atRest.push(...await writesOf(clock, writes, SILENCE_MS));
    await processes.stop();
    const faults = [...hooks.faults, ...processes.faults()];
    return { violations: history.violations, atRest, faults, writes, store };
  });
}

function doubledIn({ acts, doubles = [] }: Scenario): Doubled {
  const overlaps = (restart: string) => acts.some((act) => act.act === restart && "overlap" in act && act.overlap);
  return {
    binder: doubles.includes("binder") || overlaps("restartBinder"),
    engine: doubles.includes("engine") || overlaps("restartEngine"),
  };
}

function replacementsOf({ hooks = {} }: Variant) {
  const settings = { ...DEFAULT_SETTINGS, ...SETTINGS };
  const entries = Object.entries(hooks).map(([name, wrap]) => [name, () => {
    const [calls] = makeHooks([name], settings);
    if (!calls) throw new RangeError(`Cannot replace hook "${name}": there is none`);
    return wrap(calls);
  }]);
  return Object.fromEntries(entries);
}

/** Of two Metacontrollers, the one that had seen less may have written a pool last: its sync each minute mends that. */
function isPoolStatus(write: string): boolean {
  return write.endsWith("updateStatus SandboxWarmPool pool");
}

/** What a Sandbox says of a Pod that disappeared stays for a minute where the next one is not Ready: one write each takes it back. */
function tellingOfLosses(store: MemoryStore): string[] {
  return objectsOf(store, "Sandbox")
    .filter((sandbox) => findCondition(statusOf(sandbox).conditions, "PodLost") && readyOf(sandbox)?.status !== "True")
    .map(({ metadata }) => `at rest, and then: updateStatus Sandbox ${metadata.name}`);
}

/** Leaves out each of `some` once. */
function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...some];
  return all.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Lists what is still written by who should be at rest, for so long. */
async function writesOf(clock: FakeClock, writes: string[], ms: number): Promise<string[]> {
  const before = writes.length;
  await clock.advance(ms);
  return writes.slice(before).map((write) => `at rest, and then: ${write}`);
}
