/** Pools whose views lag: nothing is shared, nothing goes unmarked, there is never one too many, and all are served. @module */
import { expect, test } from "vitest";
import { controllerOf } from "../../../lib/objects.ts";
import { bind, claim, type Lagging, last, look, newLagging, ready, sync, unclaim } from "./lagging.ts";
import fc, { runs } from "../../properties.ts";

const ENV = { env: [{ name: "A", value: "1" }] };
const name = fc.constantFrom("a", "b", "c", "d");
const act: fc.Arbitrary<(world: Lagging) => void> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(sync) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 2 })).map(([sandboxes, claims]) => (world: Lagging) =>
      look(world, sandboxes, claims)
    ),
  },
  { weight: 2, arbitrary: name.map((each) => (world: Lagging) => claim(world, each, {})) },
  { weight: 1, arbitrary: name.map((each) => (world: Lagging) => claim(world, each, ENV)) },
  { weight: 1, arbitrary: name.map((each) => (world: Lagging) => unclaim(world, each)) },
  { weight: 2, arbitrary: fc.constant(bind) },
  { weight: 2, arbitrary: fc.constant(ready) },
  { weight: 3, arbitrary: fc.nat({ max: 100 }).map((ms) => (world: Lagging) => void (world.seconds += ms / 1000)) },
);
const scaling = fc.nat({ max: 4 }).map((replicas) => (world: Lagging) => void (world.replicas = replicas));

/** Views catch up, everything becomes Ready, claims say what they have, time passes. */
function settle(world: Lagging): void {
  for (let round = 0; round < 40; round++) {
    ready(world);
    bind(world);
    look(world, Infinity, Infinity);
    world.seconds += 1;
    sync(world);
  }
}

test("nothing is shared, nothing goes unmarked, and there is never one too many", { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(fc.nat({ max: 4 }), fc.array(act, { maxLength: 60 }), (replicas, acts) => {
      const world = newLagging(replicas);
      for (const each of acts) each(world);
      expect(world.faults).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

test(
  "nothing is shared and nothing goes unmarked while the pool is scaled; in the end all are served, and it is full",
  { timeout: 60_000 },
  () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: act }, scaling), { maxLength: 60 }), (acts) => {
        const world = newLagging(2);
        for (const each of acts) each(world);
        expect(world.faults.filter((fault) => !fault.endsWith("members"))).toEqual([]);
        settle(world);
        const owners = [...last(world.sandboxes).values()].map(({ metadata }) => controllerOf(metadata)?.uid ?? "");
        const served = [...last(world.claims).values()].filter(({ spec }) => !spec.env).map(({ metadata }) =>
          metadata.uid
        );
        expect(owners).toEqual(expect.arrayContaining(served));
        expect(owners.filter((uid) => uid === "uid-warm")).toHaveLength(world.replicas);
      }),
      { numRuns: runs(60) },
    );
  },
);
