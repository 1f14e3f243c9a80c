/** Pools whose views lag while a binder takes members: nothing goes unmarked, there is never one too many, in the end all are there. @module */
import { expect, test } from "vitest";
import { handOver, type Lagging, look, membersOf, newLagging, ready, sync } from "../lagging.ts";
import fc, { runs } from "../../../properties.ts";

type Act = (world: Lagging) => void;
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Act>(sync) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 2 })).map(([sandboxes, statuses]): Act => (world) =>
      look(world, sandboxes, statuses)
    ),
  },
  { weight: 3, arbitrary: fc.nat({ max: 9 }).map((which): Act => (world) => handOver(world, which)) },
  { weight: 2, arbitrary: fc.constant<Act>(ready) },
  { weight: 3, arbitrary: fc.nat({ max: 100 }).map((ms): Act => (world) => void (world.seconds += ms / 1000)) },
);
const scaling = fc.nat({ max: 4 }).map((replicas): Act => (world) => void (world.replicas = replicas));

/** Views catch up, everything becomes Ready, time passes. */
function settle(world: Lagging): void {
  for (let round = 0; round < 40; round++) {
    ready(world);
    look(world, Infinity, Infinity);
    world.seconds += 1;
    sync(world);
  }
}

test("nothing goes unmarked, and there is never one too many", () => {
  fc.assert(
    fc.property(fc.nat({ max: 4 }), fc.array(act, { maxLength: 60 }), (replicas, acts) => {
      const world = newLagging(replicas);
      for (const each of acts) each(world);
      expect(world.faults).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

test("nothing goes unmarked while the pool is scaled; in the end it is full", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: act }, scaling), { maxLength: 60 }), (acts) => {
      const world = newLagging(2);
      for (const each of acts) each(world);
      expect(world.faults.filter((fault) => !fault.endsWith("members"))).toEqual([]);
      settle(world);
      expect(membersOf(world)).toHaveLength(world.replicas);
    }),
    { numRuns: runs(60) },
  );
});
