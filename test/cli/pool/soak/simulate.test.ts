/** The simulation against cases worked out by hand, a law of queues, and what must hold for any demand. @module */
import { expect, test } from "vitest";
import {
  type Demand,
  dueTimes,
  poolCurve,
  simulatePool,
  smallestPool,
} from "../../../../packages/cli/pool/simulate.ts";
import fc, { runs } from "../../../properties.ts";

/** The next member is made 0.05 s after a binding: one is replaced within ten seconds. */
const START = 10 - 0.05;
const demand = (arrivals: number[], more: Partial<Demand> = {}): Demand => ({
  arrivals,
  refillSeconds: START,
  startSeconds: 4,
  patienceSeconds: 2,
  ...more,
});

test.for<{ name: string; given: Demand; replicas: number; want: object }>([
  {
    name: "nobody comes: all stand idle",
    given: demand([], { spanSeconds: 60 }),
    replicas: 3,
    want: { ready: 0, cold: 0, hitRate: 1, idleSeconds: 180, wait: { p50: 0, max: 0 } },
  },
  {
    name: "no pool: everybody waits for a start",
    given: demand([1, 2, 3]),
    replicas: 0,
    want: { ready: 0, waited: 0, cold: 3, hitRate: 0, idleSeconds: 0, wait: { p50: 4, p99: 4, max: 4 } },
  },
  {
    // Taken at 5, replaced at 15, taken at 20, replaced at 30: idle 0–5, 15–20, 30–40.
    name: "one member, and time enough between claims",
    given: demand([5, 20], { spanSeconds: 40 }),
    replicas: 1,
    want: { ready: 2, waited: 0, cold: 0, hitRate: 1, idleSeconds: 20 },
  },
  {
    // The replacement is Ready at 10: 8.5 is near enough to wait, 7 is not.
    name: "a claim waits for a member that is near",
    given: demand([0, 8.5]),
    replicas: 1,
    want: { ready: 1, waited: 1, cold: 0, wait: { p50: 0, max: 1.5 } },
  },
  {
    name: "a claim waits two seconds in vain for one that is not",
    given: demand([0, 7]),
    replicas: 1,
    want: { ready: 1, waited: 0, cold: 1, wait: { p50: 0, max: 6 } },
  },
  {
    // At 7.5 the claim of 7 still waits for the only one on its way.
    name: "two do not wait for the same member",
    given: demand([0, 7, 7.5]),
    replicas: 1,
    want: { ready: 1, waited: 0, cold: 2, wait: { p50: 4, max: 6 } },
  },
  {
    // The member of 10 is promised at 8.5; what replaces it is ordered at 10 only.
    name: "a member that is promised is not on its way for others",
    given: demand([0, 8.5, 9]),
    replicas: 1,
    want: { ready: 1, waited: 1, cold: 1, wait: { p50: 1.5, max: 4 } },
  },
  {
    name: "a burst takes what there is; the rest starts cold at once, for nothing is on its way yet",
    given: demand([0, 0, 0, 0, 0]),
    replicas: 2,
    want: { ready: 2, waited: 0, cold: 3, hitRate: 0.4, wait: { p50: 4, max: 4 } },
  },
  {
    // Replaced at 10, 10.25 twice; the claim of 8.71 waits for the first of them.
    name: "each member is replaced by itself, however full the pool is",
    given: demand([0, 0.25, 0.25, 0.25, 8.71], { spanSeconds: 10.3 }),
    replicas: 4,
    want: { ready: 4, waited: 1, idleSeconds: expect.closeTo(0.9) },
  },
  {
    name: "claims without patience start cold at once",
    given: demand([0, 9.9], { patienceSeconds: 0 }),
    replicas: 1,
    want: { ready: 1, cold: 1, wait: { max: 4 } },
  },
  {
    name: "arrivals need no order",
    given: demand([20, 5], { spanSeconds: 40 }),
    replicas: 1,
    want: { ready: 2, idleSeconds: 20 },
  },
])("simulatePool(): $name", ({ given, replicas, want }) => {
  expect(simulatePool(given, replicas)).toMatchObject(want);
});

/** Share of claims that find all of `servers` busy. Source: A. K. Erlang, 1917; it holds for any time of service. */
function erlangLoss(load: number, servers: number): number {
  let loss = 1;
  for (let server = 1; server <= servers; server++) loss = load * loss / (server + load * loss);
  return loss;
}

test.for([[1, 5, 3], [1, 5, 8], [4, 3, 12], [4, 3, 20]] as const)(
  "without patience a pool loses what Erlang's formula says: %s/s, %s s, %s members",
  ([perSecond, refillSeconds, replicas]) => {
    const arrivals = dueTimes(40_000, { kind: "poisson", perSecond, seed: 7 }).map((ms) => ms / 1000);
    const given = demand(arrivals, { refillSeconds: refillSeconds - 0.05, patienceSeconds: 0 });
    const { hitRate } = simulatePool(given, replicas);
    expect(hitRate).toBeCloseTo(1 - erlangLoss(perSecond * refillSeconds, replicas), 1.8);
  },
);

const seconds = (max: number) => fc.integer({ min: 0, max: max * 4 }).map((quarters) => quarters / 4);
const demands: fc.Arbitrary<Demand> = fc.record({
  arrivals: fc.array(seconds(60), { maxLength: 40 }),
  refillSeconds: seconds(20),
  startSeconds: seconds(20),
  patienceSeconds: seconds(5),
});

test("more members never serve fewer claims", () => {
  fc.assert(
    fc.property(demands, fc.nat({ max: 12 }), (given, replicas) => {
      expect(simulatePool(given, replicas + 1).hitRate).toBeGreaterThanOrEqual(simulatePool(given, replicas).hitRate);
    }),
    { numRuns: runs(3000) },
  );
});

test("every claim is served once, and nobody waits longer than patience and a start", () => {
  fc.assert(fc.property(demands, fc.nat({ max: 12 }), (given, replicas) => {
    const { ready, waited, cold, wait, idleSeconds } = simulatePool(given, replicas);
    const { arrivals, startSeconds, patienceSeconds = 0 } = given;
    expect(ready + waited + cold).toBe(arrivals.length);
    expect(wait.max).toBeLessThanOrEqual(patienceSeconds + startSeconds);
    expect(idleSeconds).toBeGreaterThanOrEqual(0);
    expect(idleSeconds).toBeLessThanOrEqual(replicas * Math.max(0, ...arrivals));
  }));
});

test("smallestPool() is good enough, and one less is not", () => {
  fc.assert(fc.property(demands, fc.constantFrom(0.5, 0.9, 1), (given, target) => {
    const smallest = smallestPool(given, target);
    expect(simulatePool(given, smallest).hitRate).toBeGreaterThanOrEqual(target);
    if (smallest > 0) expect(simulatePool(given, smallest - 1).hitRate).toBeLessThan(target);
  }));
});

test("poolCurve() goes from none to enough, and has the sizes that matter", () => {
  const { outcomes, smallest } = poolCurve(demand(Array.from({ length: 100 }, (_, index) => index / 2)), 0.9, 7);
  const sizes = outcomes.map(({ replicas }) => replicas);
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  expect(sizes).toEqual(expect.arrayContaining([0, 7, smallest]));
  expect(outcomes[0]?.hitRate).toBe(0);
  expect(outcomes.at(-1)?.hitRate).toBe(1);
});

test("dueTimes() puts a burst at the start and a rate at equal distances", () => {
  expect(dueTimes(3, { kind: "burst", clients: 2 })).toEqual([0, 0, 0]);
  expect(dueTimes(4, { kind: "rate", perSecond: 20 })).toEqual([0, 50, 100, 150]);
});

test("dueTimes() of a Poisson stream: the mean and the spread of its gaps are 1/rate, the same for a seed", () => {
  const arrivals = { kind: "poisson", perSecond: 10, seed: 7 } as const;
  const times = dueTimes(20_000, arrivals);
  const gaps = times.map((time, index) => time - (times[index - 1] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
  expect(mean / 100).toBeCloseTo(1, 1);
  expect(deviation / 100).toBeCloseTo(1, 1);
  expect(dueTimes(20_000, arrivals)).toEqual(times);
  expect(dueTimes(5, { ...arrivals, seed: 8 })).not.toEqual(times.slice(0, 5));
});
