import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EventHandler } from "../../packages/kube/watch.ts";
import type { Occurrence } from "../../packages/kube/event.ts";
import { eventSource } from "../../packages/keeper/observability/eventrecorder.ts";
import type { ObjectMeta } from "../../packages/api/objects/objects.ts";
import { NOW } from "../sandboxes.ts";

interface Thing {
  metadata: ObjectMeta;
  state?: string;
  minutesAgo?: number;
}

let told: string[];
let befores: (string | undefined)[];
let handler: EventHandler<Thing>;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  told = [];
  befores = [];
  const record = ({ key }: Occurrence) => told.push(key);
  handler = eventSource(({ state, minutesAgo = 0 }: Thing, before) => {
    befores.push(before);
    const occurrence = { key: state, at: NOW.getTime() - minutesAgo * 60_000 } as Occurrence;
    return state === undefined ? {} : { mark: state, occurrence };
  }, record);
});
afterEach(() => vi.useRealTimers());

const aThing = (state?: string, minutesAgo = 0, uid = "a") => ({
  metadata: { name: uid, uid },
  ...(state === undefined ? {} : { state }),
  minutesAgo,
});

test("what the first list shows is reported if it is young", () => {
  handler.observe(aThing("old", 31, "a"));
  handler.observe(aThing("young", 29, "b"));
  handler.listed?.(new Set(["a", "b"]));
  expect(told).toEqual(["young"]);
});

test("what was too old at the start stays untold, however often it is shown", () => {
  handler.observe(aThing("old", 31));
  handler.listed?.(new Set(["a"]));
  handler.observe(aThing("old", 31));
  expect(told).toEqual([]);
});

test("what comes later is reported whatever its time says, once", () => {
  handler.listed?.(new Set());
  handler.observe(aThing());
  handler.observe(aThing("late", 90));
  handler.observe(aThing("late", 90));
  handler.listed?.(new Set(["a"]));
  handler.observe(aThing("late", 90));
  expect(told).toEqual(["late"]);
});

test("a state that has gone and comes again, or another one, is reported", () => {
  handler.listed?.(new Set());
  for (const state of ["one", undefined, "one", "two"]) handler.observe(aThing(state));
  expect(told).toEqual(["one", "one", "two"]);
});

test("an object that is gone is forgotten", () => {
  handler.listed?.(new Set());
  handler.observe(aThing("one"));
  handler.gone("a");
  handler.observe(aThing("one"));
  expect(befores).toEqual([undefined, undefined]);
});
