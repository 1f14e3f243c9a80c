/** Runs one scenario from beginning to rest: the real hooks and the stand-in, on a store in memory and a fake clock. @module */
import { type Engine, startEngine } from "../../dev/metacontroller/engine.ts";
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import { type Act, aPool, aTemplate, NAMESPACE, perform } from "./acts.ts";
import { startHooks } from "../../testing/hooks.ts";
import { startKeeper } from "../../testing/keeper.ts";
import { startKubelet } from "../../testing/kubelet.ts";
import { createMemoryServer } from "../../testing/server.ts";
import { startBinders } from "./binders.ts";
import { createFates, type Fate } from "./fates.ts";
import { createHistory } from "./history.ts";
import { weatheredFetch } from "./lateness.ts";
import { faultsAtRest } from "./rest.ts";
import { createWeather, type Forecast, type Notice, weathered } from "./weather.ts";

/** What happens in a run; `wait` is in milliseconds, before the act. */
export interface Scenario {
  replicas: number;
  acts: (Act & { wait: number })[];
  fates: Fate[];
  forecast: Forecast;
  /** Whether our CRDs are installed, which give objects a first status; others do not. @default {true} */
  isPreset?: boolean;
}

export interface Outcome {
  /** What must never happen, and did. */
  violations: string[];
  /** What is wrong at rest. */
  atRest: string[];
  /** Exceptions in hooks, and answers that the guard refused. */
  faults: string[];
  /** What engine and binder wrote, as `<verb> <kind> <name>`; what changed nothing is not there. */
  writes: string[];
  store: MemoryStore;
}

export const CALM: Forecast = { requestMs: [2], answerMs: [2], troubles: [], mishaps: [], lags: [] };
const GRACE_SECONDS = 3;
const STORM_MS = 4000;
/** Long enough for all to come to rest, shorter than what would hide a lost wake-up: the pool's look each minute. */
const REST_MS = 30_000;

/** Runs a scenario. */
export async function run({ replicas, acts, fates, forecast, isPreset }: Scenario): Promise<Outcome> {
  const start = Date.parse("2026-01-01T00:00:00Z");
  const weather = createWeather(forecast, () => store.clock.now() - start);
  const server = await createMemoryServer({ watchDelay: weather.lagOf, isPreset, namespaces: [NAMESPACE] });
  const { store } = server;
  const { clock } = store;
  const history = createHistory(store);
  const { fateOf, sick } = createFates(fates);
  await startKubelet(store, fateOf);
  const hooks = startHooks({ clock, settings: { readinessGraceSeconds: GRACE_SECONDS } });
  const fetch = weatheredFetch(hooks, clock, weather);
  const keeper = await startKeeper(server.connect(), clock);
  await store.put(aTemplate(0));
  await store.put(aPool(replicas));
  history.look();
  const writes: string[] = [];
  const notice: Notice = (before, after, verb) => {
    const { kind, metadata } = before ?? after ?? { kind: "", metadata: { name: "" } };
    if (before?.metadata.resourceVersion !== after?.metadata.resourceVersion) {
      writes.push(`${verb} ${kind} ${metadata.name}`);
    }
    history.notice(before, after, verb);
  };
  const binders = startBinders(server, weather, notice);
  const startAgain = () => startEngine({ store: weathered(store, weather, notice), fetch, workers: 4 });
  let engine: Engine = startAgain();
  const ending: Promise<void>[] = [];
  for (const { wait, ...act } of acts) {
    await clock.advance(wait);
    if (act.act === "restartHook") hooks.restart(act.hook);
    else if (act.act === "restartBinder") binders.restart(act.overlap);
    else if (act.act !== "restartEngine") await perform(store, act);
    else {
      ending.push(engine.stop());
      if (!act.overlap) await clock.advance(300);
      engine = startAgain();
    }
    history.look();
  }
  await clock.advance(STORM_MS);
  weather.clear();
  await clock.advance(REST_MS);
  const atRest = faultsAtRest(store, sick);
  ending.push(engine.stop(), keeper.stop(), binders.stop());
  await clock.advance(1000);
  await Promise.all(ending);
  return {
    violations: history.violations,
    atRest,
    faults: [...hooks.faults, ...keeper.faults],
    writes,
    store,
  };
}
