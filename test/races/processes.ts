/** Engines, binders and keepers: how they are started, stopped, killed, and how two of one run side by side. @module */
import { startFakeMetacontroller } from "../../packages/testing/metacontroller/metacontroller.ts";
import type { Fetch } from "../../packages/testing/metacontroller/hook.ts";
import { startBinder, startKeeper } from "../../packages/testing/processes.ts";
import type { MemoryServer } from "../../packages/testing/server.ts";
import { weatheredApi } from "./client.ts";
import { weatheredStore } from "./store.ts";
import type { Notice, Surroundings } from "./surroundings.ts";
import type { Variant } from "./variant.ts";
import type { Watcher, Weather } from "./weather.ts";

export interface Processes {
  /** Kills the one that runs in the midst of what it does, and starts another; or starts that first, and stops it later. */
  restart(of: Watcher, overlap: boolean): void;
  /** Starts a second one of it, until the weather clears. */
  double(of: Watcher): void;
  /** Ends the second ones. */
  undouble(): void;
  /** Ends all. */
  stop(): Promise<void>;
  /** What went wrong without the weather's doing. */
  faults(): string[];
}

interface Process {
  faults: string[];
  stop(): Promise<void>;
}

type Start = (surroundings: Surroundings) => Process;

/** How long two of one process run side by side, in milliseconds. */
const OVERLAP_MS = 700;
/** How long none runs between a kill and the next start. */
const GONE_MS: Record<Watcher, number> = { engine: 300, binder: 0, keeper: 200 };

/** Starts one of each. */
export function startProcesses(
  server: MemoryServer,
  { fetch, weather, notice, variant }: { fetch: Fetch; weather: Weather; notice: Notice; variant: Variant },
): Processes {
  const { store } = server;
  const { clock } = store;
  const api = (of: Watcher, around: Surroundings) => weatheredApi(server.connect(), of, store, around);
  const starts: Record<Watcher, Start> = {
    engine: (around) => {
      const seen = weatheredStore(store, around);
      const engine = startFakeMetacontroller({ store: variant.store?.(seen) ?? seen, fetch, workers: 4 });
      return { faults: [], stop: engine.stop };
    },
    binder: (around) => {
      const seen = api("binder", around);
      return startBinder(variant.binderApi?.(seen) ?? seen, clock);
    },
    keeper: (around) => {
      const seen = api("keeper", around);
      return startKeeper(variant.keeperApi?.(seen) ?? seen, clock);
    },
  };
  const ending: Promise<void>[] = [];
  const all: Process[] = [];
  const start = (of: Watcher) => {
    const life = { isDead: false };
    const process = starts[of]({ weather, notice, isDead: () => life.isDead });
    all.push(process);
    return {
      end(isKilled: boolean) {
        life.isDead = isKilled;
        ending.push(process.stop());
      },
    };
  };
  const running: Partial<Record<Watcher, ReturnType<typeof start>>> = {};
  const beside: ReturnType<typeof start>[] = [];
  const begin = (of: Watcher) => void (running[of] = start(of));
  for (const watcher of ["keeper", "binder", "engine"] as const) begin(watcher);
  return {
    restart(of, overlap) {
      const before = running[of];
      if (!before) return;
      if (overlap) {
        begin(of);
        clock.setTimeout(() => before.end(of === "binder"), OVERLAP_MS);
        return;
      }
      before.end(true);
      delete running[of];
      if (GONE_MS[of] > 0) clock.setTimeout(() => begin(of), GONE_MS[of]);
      else begin(of);
    },
    double: (of) => void beside.push(start(of)),
    undouble: () => beside.splice(0).forEach((process) => process.end(false)),
    async stop() {
      for (const process of Object.values(running)) process.end(false);
      // What waits for time to pass before it ends is given it.
      await clock.advance(1000);
      await Promise.all(ending);
    },
    faults: () => all.flatMap(({ faults }) => faults).filter((fault) => !isOfWeather(fault)),
  };
}

/** A refusal that is logged by its status alone does not say whose it was. */
function isOfWeather(fault: string): boolean {
  return fault.includes("weather: ") || fault === "binder: Cannot requeue a pool that has too few members";
}
