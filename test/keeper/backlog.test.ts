/** Many objects that wait in Metacontroller's queue: the keeper wakes those that were forgotten in it, and no others. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, pass, server } from "./stage.ts";
import { aCondition } from "./extensions.ts";
import { SANDBOX } from "./keeping.ts";

const READY = { conditions: [aCondition("Ready", "True", "DependenciesReady")] };

/** Creates the Sandbox of a number, or changes its status and generation. */
function put(number: number, status: object = {}, generation = 1): void {
  const name = `s${number}`;
  const { creationTimestamp = new Date(Date.now()).toISOString().replace(/\.\d+/, "") } =
    server.get(pathOf(number))?.metadata ?? {};
  server.put(pathOf(number), {
    ...aSandbox({
      metadata: { name, uid: name, creationTimestamp, generation },
      status: { observedGeneration: 1, ...status },
    }),
  });
}

const pathOf = (number: number) => SANDBOX.replace("demo", `s${number}`);
const wokenNames = () => [...new Set(asked().map((request) => request.replace("PATCH sandboxes/", "")))].toSorted();

beforeEach(begin);
afterEach(end);

test("Sandboxes that are answered one after the other cost no request, however long that takes", async () => {
  await keep(0);
  for (let number = 0; number < 200; number++) put(number);
  for (let number = 0; number < 200; number++) {
    await pass(0.5);
    put(number, READY);
  }
  await pass(60);
  expect(asked()).toEqual([]);
});

test("one that waits while younger ones are answered is woken six seconds after its creation", async () => {
  await keep(0);
  for (let number = 0; number < 40; number++) {
    put(number);
    await pass(0.2);
    if (number !== 10) put(number, READY);
    // Number 10 was created two seconds after the start, and this is 7.8 seconds after it.
    if (number === 38) expect(asked()).toEqual([]);
  }
  await pass(1);
  expect(wokenNames()).toEqual(["s10"]);
});

test("of many that nobody answers, twenty are woken at once, and all as soon as a younger one is answered", async () => {
  await keep(0);
  for (let number = 0; number < 100; number++) put(number);
  await pass(7);
  expect(wokenNames()).toHaveLength(20);
  await pass(12);
  expect(wokenNames()).toHaveLength(40);
  put(100);
  await pass(1);
  put(100, READY);
  await pass(6);
  expect(wokenNames()).toHaveLength(100);
});

test("Sandboxes that are bound and answered in between do not show that a Pod takes too long to start", async () => {
  await keep(0);
  for (let number = 0; number < 60; number++) put(number);
  put(100, READY);
  for (let number = 0; number < 60; number++) {
    // A claim's update of a Sandbox is answered within a second, each Pod starts later than that.
    put(100, { ...READY, observedGeneration: number }, number + 1);
    await pass(0.5);
    put(100, { ...READY, observedGeneration: number + 1 }, number + 1);
    put(number, READY);
  }
  expect(asked()).toEqual([]);
});

test("a time that is ahead does not make all others late", async () => {
  await keep(0);
  const [ready] = READY.conditions;
  for (let number = 0; number < 30; number++) put(number);
  const late = {
    ...ready,
    status: "False",
    reason: "DependenciesNotReady",
    lastTransitionTime: "2026-11-21T13:00:00Z",
  };
  put(30, { conditions: [late] });
  put(30, READY);
  for (let second = 0; second < 30; second++) {
    await pass(1);
    put(second, READY);
  }
  expect(asked()).toEqual([]);
});
