/** What goes wrong between an engine, the API and the hooks, and how late everybody learns of anything. @module */
import type { Clock, Resource, Store } from "../../dev/metacontroller/store.ts";
import { StoreError } from "../../dev/metacontroller/store.ts";
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { findObject } from "../../testing/objects.ts";

/**
 * What becomes of one write of the engine.
 *
 * | outcome | meaning |
 * |---|---|
 * | `touched` | somebody else has just changed the object: 409 |
 * | `stale` | the same, by a change that wakes nobody: of a claim's finalizers |
 * | `refused` | 500, not carried out |
 * | `lost` | carried out, and 500 all the same |
 */
export interface Trouble {
  nth: number;
  outcome: "touched" | "stale" | "refused" | "lost";
}

/** From when, for how long and by how much the view of one kind lags behind; milliseconds since the start. */
export interface Lag {
  kind: string;
  from: number;
  lasts: number;
  delay: number;
}

/** What becomes of one call of a hook: its answer gets lost, or it is asked twice. */
export interface Mishap {
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
}

/** The forecast as it comes true. */
export interface Weather {
  request(): { delayMs: number; outcome: Trouble["outcome"] | undefined };
  call(): { delayMs: number; outcome: Mishap["outcome"] | undefined };
  lagOf(object: KubeObject): number;
  /** From now on nothing goes wrong, and everybody sees everything at once. */
  clear(): void;
}

/** Makes the weather of one run. @param elapsed milliseconds since its start */
export function createWeather(forecast: Forecast, elapsed: () => number): Weather {
  let requests = 0;
  let calls = 0;
  let isClear = false;
  const turn = (durations: number[], count: number) => isClear ? 0 : durations[count % durations.length] ?? 0;
  const outcomeOf = <Outcome>(list: { nth: number; outcome: Outcome }[], count: number) =>
    isClear ? undefined : list.find(({ nth }) => nth === count)?.outcome;
  return {
    request() {
      const count = requests++;
      return { delayMs: turn(forecast.requestMs, count), outcome: outcomeOf(forecast.troubles, count) };
    },
    call() {
      const count = calls++;
      return { delayMs: turn(forecast.answerMs, count), outcome: outcomeOf(forecast.mishaps, count) };
    },
    lagOf({ kind }) {
      if (isClear) return 0;
      const now = elapsed();
      const active = forecast.lags.filter((lag) => lag.kind === kind && lag.from <= now && now < lag.from + lag.lasts);
      return Math.max(1, ...active.map(({ delay }) => delay));
    },
    clear: () => void (isClear = true),
  };
}

/** Is told of every write that was carried out; no `before` is a creation, no `after` an end. */
export type Notice = (before: KubeObject | undefined, after: KubeObject | undefined, verb: string) => void;

/** Waits on the fake clock; no time is no wait. */
export async function pause(clock: Clock, milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, milliseconds));
}

/** Returns the store as an engine meets it in this weather. Events are dropped. */
export function weathered(store: MemoryStore, weather: Weather, notice: Notice): Store {
  const write = async <T>(verb: string, resource: Resource, name: string, act: () => Promise<T>): Promise<T> => {
    const { delayMs, outcome } = weather.request();
    await pause(store.clock, delayMs);
    if (outcome === "refused") throw new StoreError(500, "InternalError", "refused");
    const find = () => findObject(store, resource.kind, name);
    if (outcome === "touched") await touch(store, find());
    // Of children every change wakes the parent: only a claim can change unnoticed.
    if (outcome === "stale" && resource.kind === "SandboxClaim") throw new StoreError(409, "Conflict", "stale");
    const before = find();
    const answer = act();
    notice(before, find(), verb);
    const result = await answer;
    if (outcome === "lost") throw new StoreError(500, "InternalError", "lost");
    return result;
  };
  const isEvent = ({ kind }: Resource) => kind === "Event";
  return {
    ...store,
    async get(resource, namespace, name) {
      await pause(store.clock, weather.request().delayMs);
      return await store.get(resource, namespace, name);
    },
    create: (resource, object) =>
      isEvent(resource)
        ? Promise.resolve(object)
        : write("create", resource, object.metadata.name, () => store.create(resource, object)),
    update: (resource, object) =>
      isEvent(resource)
        ? Promise.resolve(object)
        : write("update", resource, object.metadata.name, () => store.update(resource, object)),
    updateStatus: (resource, object) =>
      write("updateStatus", resource, object.metadata.name, () => store.updateStatus(resource, object)),
    delete: (resource, namespace, name, options) =>
      write("delete", resource, name, () => store.delete(resource, namespace, name, options)),
  };
}

let touches = 0;

/** Changes an annotation that means nothing. */
export async function touch(store: MemoryStore, object: KubeObject | undefined): Promise<void> {
  if (!object) return;
  const annotations = { ...object.metadata.annotations, "example.com/touched": String(++touches) };
  await store.put({ ...object, metadata: { ...object.metadata, annotations } });
}
