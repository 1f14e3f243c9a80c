import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Sink } from "../../kube/watch.ts";
import type { Occurrence } from "../../kube/event.ts";
import { eventSource } from "../../keeper/eventrecorder.ts";
import type { ObjectMeta } from "../../lib/objects.ts";
import { NOW } from "../sandboxes.ts";

interface Thing {
  metadata: ObjectMeta;
  state?: string;
  minutesAgo?: number;
}

let told: string[];
let befores: (string | undefined)[];
let sink: Sink<Thing>;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  told = [];
  befores = [];
  const record = ({ key }: Occurrence) => told.push(key);
  sink = eventSource(({ state, minutesAgo = 0 }: Thing, before) => {
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

test("what the first list shows is told if it is young", () => {
  sink.observe(aThing("old", 31, "a"));
  sink.observe(aThing("young", 29, "b"));
  sink.listed(new Set(["a", "b"]));
  expect(told).toEqual(["young"]);
});

test("what was too old at the start stays untold, however often it is shown", () => {
  sink.observe(aThing("old", 31));
  sink.listed(new Set(["a"]));
  sink.observe(aThing("old", 31));
  expect(told).toEqual([]);
});

test("what comes later is told whatever its time says, once", () => {
  sink.listed(new Set());
  sink.observe(aThing());
  sink.observe(aThing("late", 90));
  sink.observe(aThing("late", 90));
  sink.listed(new Set(["a"]));
  sink.observe(aThing("late", 90));
  expect(told).toEqual(["late"]);
});

test("a state that has gone and comes again, or another one, is told", () => {
  sink.listed(new Set());
  for (const state of ["one", undefined, "one", "two"]) sink.observe(aThing(state));
  expect(told).toEqual(["one", "one", "two"]);
});

test("an object that is gone is forgotten", () => {
  sink.listed(new Set());
  sink.observe(aThing("one"));
  sink.gone("a");
  sink.observe(aThing("one"));
  sink.listed(new Set());
  sink.observe(aThing("one"));
  expect(befores).toEqual([undefined, undefined, undefined]);
});
