/** Whatever a pool is shown, its answer keeps the laws: nothing gone unmarked, nothing written for nothing, never too many. @module */
import { expect, test } from "vitest";
import { aPoolRequest, syncPool, type World } from "../../../poolcalls.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool, aReturned, type Seen, STATUS } from "../../../pools.ts";
import { aTemplate } from "../../../templates.ts";
import { brokenLaws } from "../laws.ts";
import fc, { runs } from "../../../properties.ts";

const state = fc.constantFrom(...Object.keys(STATUS) as (keyof typeof STATUS)[]);
const marks = fc.constantFrom({}, {}, { "agents.x-k8s.io/draining": "stuck" });
const hashes = fc.constantFrom({}, {}, { "agents.x-k8s.io/sandbox-template-ref-hash": "ffffffff" });
const time = fc.constantFrom({}, {}, {}, { deletionTimestamp: ago(1) }, { creationTimestamp: undefined });
const seen: fc.Arbitrary<Seen> = fc.record({
  state,
  age: fc.constantFrom(-9999, 0, 1, 2, 60, 300, 9999),
  marks,
  time,
  spec: fc.constantFrom({}, {}, {}, { operatingMode: "Suspended" }, { shutdownTime: "2030-01-01T00:00:00Z" }),
  applied: fc.oneof({ weight: 3, arbitrary: hashes.map((labels) => ({ metadata: { labels } })) }, fc.constant(null)),
}).map(({ state, age, marks, time, spec, applied }) => ({
  state,
  age,
  spec,
  applied,
  metadata: { labels: marks, ...time },
}));

const NAMES = ["a", "b", "warm", "warm-1", "warm-mwqcvpc1"];
const name = fc.constantFrom(...NAMES);
const uid = fc.constantFrom("1", "2");
const byName = { selector: (object: { metadata: { name: string } }) => object.metadata.name };
const cold = fc.tuple(name, uid, seen).map(([name, uid, seen]) =>
  aColdSandbox(aClaim(name, { metadata: { uid: `uid-${name}-${uid}` } }), seen)
);
const sandbox = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 9 }), seen).map(([number, seen]) => aMember(number, seen)),
  },
  { weight: 2, arbitrary: cold },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((number) => aReturned(number)) },
);
const world: fc.Arbitrary<World> = fc.record({
  pool: fc.record({
    replicas: fc.integer({ min: 0, max: 6 }),
    type: fc.constantFrom("Recreate", "OnReplenish"),
    time: fc.constantFrom({}, {}, {}, {}, { deletionTimestamp: ago(1) }),
    status: fc.constantFrom({}, { sequence: 7 }, { sequence: 9, batches: [{ first: 8, at: ago(1) }] }),
  }).map(({ replicas, type, time, status }) =>
    aPool({ spec: { replicas, updateStrategy: { type } }, metadata: time, status })
  ),
  template: fc.constantFrom(
    null,
    aTemplate(),
    aTemplate({ spec: { envVarsInjectionPolicy: "Allowed", service: true } }),
  ),
  sandboxes: fc.uniqueArray(sandbox, { maxLength: 8, ...byName }),
});

test("an answer keeps the laws", () => {
  fc.assert(
    fc.property(world, (shown) => {
      expect(brokenLaws(aPoolRequest(shown), syncPool(shown))).toEqual([]);
    }),
    { numRuns: runs(500) },
  );
});

test("the same request gives the same bytes, whatever the order of Sandboxes", () => {
  fc.assert(fc.property(world, (shown) => {
    const turned = { ...shown, sandboxes: (shown.sandboxes ?? []).toReversed() };
    expect(JSON.stringify(syncPool(turned))).toBe(JSON.stringify(syncPool(shown)));
  }));
});
