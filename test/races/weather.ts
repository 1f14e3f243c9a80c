/** What goes wrong between processes, API and hooks, and how late everybody learns of anything. @module */
import type { Clock } from "../../packages/testing/store/store.ts";
import type { MemoryStore } from "../../packages/testing/store/memory.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";

/**
 * What becomes of one request of a process.
 *
 * | outcome | meaning |
 * |---|---|
 * | `touched` | somebody else has just changed the object: 409 |
 * | `refused` | 500, not carried out |
 * | `lost` | carried out, but answered with 500 |
 */
interface Trouble {
  /** Counted for each kind of process. */
  nth: number;
  /** Absent: of any. */
  of?: Watcher | undefined;
  outcome: "touched" | "refused" | "lost";
}

/** The processes that watch, each by its own watches. */
export type Watcher = "engine" | "binder" | "keeper";

/** Which views are worse than usual, from when and for how long; milliseconds since the start. */
interface Blur {
  kind: string;
  /** Absent: everybody's. */
  of?: Watcher | undefined;
  from: number;
  lasts: number;
}

/** By how much the view of one kind lags behind, in milliseconds: of two kinds, what came later may be seen sooner. */
interface Lag extends Blur {
  delay: number;
}

/** Watchers miss what happens to one kind in between; at its end the watch breaks, and all is listed again. */
type Gap = Blur;

/** What becomes of one call of a hook: its answer gets lost, or it is asked twice. */
interface Mishap {
  nth: number;
  outcome: "lost" | "twice";
}

/** All that can be unpleasant; durations in milliseconds, used in turns. */
export interface Forecast {
  requestMs: number[];
  answerMs: number[];
  troubles: Trouble[];
  mishaps: Mishap[];
  lags: Lag[];
  /** @default {[]} */
  gaps?: Gap[];
}

/** The forecast as it comes true. */
export interface Weather {
  request(of: Watcher): { delayMs: number; outcome: Trouble["outcome"] | undefined };
  call(): { delayMs: number; outcome: Mishap["outcome"] | undefined };
  /** How much later than it happens a change is seen, in milliseconds; at least one. */
  lagOf(kind: string, of: Watcher): number;
  /** Tells whether a change that happens now is lost. */
  isLost(kind: string, of: Watcher): boolean;
  /** In how many milliseconds each gap of a view ends that has not ended yet. */
  gapEnds(kind: string, of: Watcher): number[];
  /** From now on nothing goes wrong, and all takes a millisecond. */
  clear(): void;
}

/** Makes the weather of one run. @param elapsed milliseconds since its start */
export function createWeather(forecast: Forecast, elapsed: () => number): Weather {
  const requests = { engine: 0, binder: 0, keeper: 0 };
  let calls = 0;
  let isClear = false;
  const { gaps = [] } = forecast;
  // Not even in fine weather is anything for nothing: who sees late what is gone would make it anew without end.
  const turn = (durations: number[], count: number) => isClear ? 1 : durations[count % durations.length] ?? 0;
  const outcomeOf = <Outcome>(list: { nth: number; outcome: Outcome }[], count: number) =>
    isClear ? undefined : list.find(({ nth }) => nth === count)?.outcome;
  return {
    request(of) {
      const count = requests[of]++;
      const troubles = forecast.troubles.filter((trouble) => trouble.of === undefined || trouble.of === of);
      return { delayMs: turn(forecast.requestMs, count), outcome: outcomeOf(troubles, count) };
    },
    call() {
      const count = calls++;
      return { delayMs: turn(forecast.answerMs, count), outcome: outcomeOf(forecast.mishaps, count) };
    },
    lagOf(kind, of) {
      if (isClear) return 1;
      const active = forecast.lags.filter((lag) => concerns(lag, kind, of) && isActive(lag, elapsed()));
      return Math.max(1, ...active.map(({ delay }) => delay));
    },
    isLost: (kind, of) => !isClear && gaps.some((gap) => concerns(gap, kind, of) && isActive(gap, elapsed())),
    gapEnds: (kind, of) =>
      gaps.filter((gap) => concerns(gap, kind, of)).map(({ from, lasts }) => from + lasts - elapsed())
        .filter((left) => left > 0),
    clear: () => void (isClear = true),
  };
}

function concerns(blur: Blur, kind: string, of: Watcher): boolean {
  return blur.kind === kind && (blur.of === undefined || blur.of === of);
}

function isActive({ from, lasts }: Blur, now: number): boolean {
  return from <= now && now < from + lasts;
}

/** Waits on the fake clock; no time is no wait. */
export async function pause(clock: Clock, milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, milliseconds));
}

let touches = 0;

/** Changes an annotation that means nothing. */
export async function touch(store: MemoryStore, object: KubeObject | undefined): Promise<void> {
  if (!object) return;
  const annotations = { ...object.metadata.annotations, "example.com/touched": String(++touches) };
  await store.put({ ...object, metadata: { ...object.metadata, annotations } });
}
