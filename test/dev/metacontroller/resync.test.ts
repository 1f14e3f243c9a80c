/** When a parent is synced again: by its hook's word, after failures, by the period; what Events say of it. @module */
import { expect, test } from "vitest";
import { aComposite, API, aThing, poked, reasons, startWorld } from "./world.ts";

test("resyncAfterSeconds: fractions count, an earlier one takes the place of a later one", async () => {
  const times: number[] = [];
  const answers = [{ resyncAfterSeconds: 10 }, { resyncAfterSeconds: 0.05 }, {}, { resyncAfterSeconds: 0 }];
  const world = await startWorld({
    "/sync": (_, call) => {
      times.push(world.store.clock.now() - begin);
      return call === 3 ? new Response("", { status: 500 }) : { children: [], ...answers[call - 1] };
    },
  });
  const parentResource = { apiVersion: API, resource: "things", ignoreStatusChanges: true };
  const begin = world.store.clock.now();
  await world.put(aComposite({ parentResource }), aThing("t"));
  await world.store.clock.advance(1000);
  await world.edit(API, "Thing", "t", poked);
  await world.store.clock.advance(20_000);
  expect(times).toStrictEqual([0, 1000, 1050, 1055]);
});

test("back-off doubles with each failure and starts anew after a success", async () => {
  const times: number[] = [];
  const failing = [true, true, true, false, true, false];
  const world = await startWorld({
    "/sync": (_, call) => {
      times.push(world.store.clock.now());
      return failing[call - 1] ? new Response("", { status: 500 }) : { children: [] };
    },
  });
  const parentResource = { apiVersion: API, resource: "things", ignoreStatusChanges: true };
  await world.put(aComposite({ parentResource }), aThing("t"));
  await world.store.clock.advance(1000);
  await world.edit(API, "Thing", "t", poked);
  await world.store.clock.advance(1000);
  const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(waits).toStrictEqual([5, 10, 20, 965, 5]);
});

test("429 comes again when the hook said, without an event", async () => {
  const world = await startWorld({
    "/sync": (_, call) =>
      call < 3 ? new Response("", { status: 429, headers: { "Retry-After": "30" } }) : { children: [] },
  });
  await world.put(
    aComposite({ parentResource: { apiVersion: API, resource: "things", ignoreStatusChanges: true } }),
    aThing("t"),
  );
  await world.store.clock.advance(29_999);
  expect(world.count("/sync")).toBe(1);
  await world.store.clock.advance(1);
  expect(world.count("/sync")).toBe(2);
  await world.store.clock.advance(30_000);
  expect(world.count("/sync")).toBe(3);
  expect(reasons(world, "Thing")).toStrictEqual([]);
});

test("resyncPeriodSeconds syncs all parents again and again, at most once a second", async () => {
  const world = await startWorld({ "/sync": () => ({ children: [] }) });
  const parentResource = { apiVersion: API, resource: "things", ignoreStatusChanges: true };
  await world.put(aComposite({ parentResource, resyncPeriodSeconds: 0 }), aThing("t"), aThing("u"));
  await world.store.clock.advance(3000);
  expect(world.count("/sync")).toBe(2 + 3 * 2);
});

test("SyncError repeats are counted in one Event; a flood is cut at 25", async () => {
  const world = await startWorld({
    "/sync": (_, call) => new Response(`failure ${Math.max(call, 5)}`, { status: 500 }),
  });
  await world.put(aComposite(), aThing("t"));
  await world.store.clock.advance(5 * (1 + 2 + 4 + 8));
  const event = world.store.objects("v1", "Event").filter(({ reason }) => reason === "SyncError");
  expect(event).toHaveLength(1);
  expect(event[0]).toMatchObject({ count: 5, type: "Warning", source: { component: "fake-metacontroller" } });
  expect(event[0]?.["message"]).toMatch(/status 500, body failure 5/);
  for (let i = 0; i < 40; i++) await world.edit(API, "Thing", "t", poked);
  expect(world.store.objects("v1", "Event").filter(({ reason }) => reason === "SyncError").length).toBeLessThanOrEqual(
    21,
  );
});
