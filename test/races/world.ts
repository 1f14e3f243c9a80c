/** Runs one scenario from beginning to rest: the real hooks and the stand-in, on a store in memory and a fake clock. @module */
import { type Engine, startEngine } from "../../dev/metacontroller/engine.ts";
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import { type Act, aPool, aTemplate, perform } from "./acts.ts";
import { createApi } from "./api.ts";
import { createHistory } from "./history.ts";
import { startKeeper } from "./keeper.ts";
import { type Fate, startKubelet } from "./kubelet.ts";
import { startProcesses } from "./processes.ts";
import { faultsAtRest } from "./rest.ts";
import { createWeather, type Forecast, type Notice, weathered } from "./weather.ts";

/** What happens in a run; `wait` is in milliseconds, before the act. */
export interface Scenario {
  replicas: number;
  acts: (Act & { wait: number })[];
  fates: Fate[];
  forecast: Forecast;
}

export interface Outcome {
  /** What must never happen, and did. */
  violations: string[];
  /** What is wrong at rest. */
  atRest: string[];
  /** Exceptions in hooks, and answers that the guard refused. */
  faults: string[];
  /** What the engine wrote, as `<verb> <kind> <name>`; what changed nothing is not there. */
  writes: string[];
  store: MemoryStore;
}

export const CALM: Forecast = { requestMs: [2], answerMs: [2], troubles: [], mishaps: [], lags: [] };
const GRACE_SECONDS = 3;
const STORM_MS = 4000;
/** Longer than a pool remembers an assignment, shorter than what would hide a lost wake-up: the pool's look each minute. */
const REST_MS = 30_000;

/** Runs a scenario. */
export async function run({ replicas, acts, fates, forecast }: Scenario): Promise<Outcome> {
  const start = Date.parse("2026-01-01T00:00:00Z");
  const weather = createWeather(forecast, () => store.clock.now() - start);
  const store = await createApi(weather.lagOf);
  const { clock } = store;
  const history = createHistory(store);
  const kubelet = await startKubelet(store, fates);
  const processes = startProcesses(clock, weather, { readinessGraceSeconds: GRACE_SECONDS });
  await startKeeper(store);
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
  const startAgain = () =>
    startEngine({ store: weathered(store, weather, notice), fetch: processes.fetch, workers: 4 });
  let engine: Engine = startAgain();
  const ending: Promise<void>[] = [];
  for (const { wait, ...act } of acts) {
    await clock.advance(wait);
    if (act.act === "restartHook") processes.restart(act.hook);
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
  const atRest = faultsAtRest(store, kubelet);
  ending.push(engine.stop());
  await clock.advance(1000);
  await Promise.all(ending);
  return { violations: history.violations, atRest, faults: processes.faults, writes, store };
}
