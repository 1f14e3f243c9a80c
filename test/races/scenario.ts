/** Scenarios as fast-check makes and shrinks them: less happens, less goes wrong, sooner. @module */
import type { Act } from "./acts.ts";
import type { Fate } from "./fates.ts";
import type { Forecast, Watcher } from "./weather.ts";
import type { Scenario } from "./world.ts";
import fc from "../properties.ts";

const CLAIMS = 4;
const claim = fc.nat({ max: CLAIMS - 1 });
const member = fc.nat({ max: 3 });
const replicas = fc.nat({ max: 3 });
const cold = fc.boolean();
const kind = fc.constantFrom("Sandbox", "Sandbox", "SandboxClaim", "SandboxWarmPool", "SandboxTemplate", "Pod");
/** Most races are between things that happen almost at once. */
const wait = fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 500 }));
const of = fc.constantFrom(undefined, undefined, "engine" as const, "binder" as const, "keeper" as const);
const hook = fc.constantFrom("sandbox", "sandboxclaim", "sandboxwarmpool");

const arrival = fc.record({ act: fc.constant("claim"), claim, cold: fc.constantFrom(false, false, false, true) });
const mortal = fc.record({
  act: fc.constant("claim"),
  claim,
  expiresInMs: fc.integer({ min: 0, max: 3000 }),
  policy: fc.constantFrom("Retain", "Delete", "DeleteForeground"),
});
const users = fc.oneof(
  { arbitrary: arrival, weight: 10 },
  { arbitrary: mortal, weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("unclaim"), claim, foreground: fc.boolean() }), weight: 3 },
  { arbitrary: fc.record({ act: fc.constant("reclaim"), claim, cold }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("scale"), replicas }), weight: 3 },
  { arbitrary: fc.record({ act: fc.constant("template"), version: fc.nat({ max: 2 }) }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("dropPool"), foreground: fc.boolean() }), weight: 1 },
  { arbitrary: fc.record({ act: fc.constant("makePool"), replicas }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("extend"), claim, byMs: fc.integer({ min: 500, max: 5000 }) }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("forge"), claim }), weight: 1 },
  { arbitrary: fc.record({ act: fc.constant("dropSandbox"), claim }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("suspend"), claim, resume: fc.boolean() }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("dropMember"), member }), weight: 2 },
  { arbitrary: fc.record({ act: fc.constant("evict"), member }), weight: 1 },
  {
    arbitrary: fc.record({
      act: fc.constant("touch"),
      kind: fc.constantFrom("Sandbox", "SandboxClaim", "SandboxWarmPool"),
      member,
    }),
    weight: 3,
  },
) as fc.Arbitrary<Act>;
const restarts = fc.oneof(
  fc.record({ act: fc.constant("restartHook"), hook }),
  fc.record({ act: fc.constant("restartEngine"), overlap: fc.boolean() }),
  fc.record({ act: fc.constant("restartBinder"), overlap: fc.boolean() }),
  fc.record({ act: fc.constant("restartKeeper"), overlap: fc.boolean() }),
) as fc.Arbitrary<Act>;

const fate: fc.Arbitrary<Fate> = fc.record({
  startMs: fc.nat({ max: 1500 }),
  probeMs: fc.nat({ max: 400 }),
  fate: fc.constantFrom("ready", "ready", "ready", "ready", "fails", "dies", "hangs"),
  lifeMs: fc.nat({ max: 1500 }),
});

const forecast: fc.Arbitrary<Forecast> = fc.record({
  requestMs: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 7 }),
  answerMs: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 7 }),
  troubles: fc.array(
    fc.record({ nth: fc.nat({ max: 40 }), of, outcome: fc.constantFrom("touched", "refused", "lost") }),
    { maxLength: 10, size: "max" },
  ),
  mishaps: fc.array(
    fc.record({ nth: fc.nat({ max: 80 }), outcome: fc.constantFrom("lost", "twice") }),
    { maxLength: 4 },
  ),
  lags: fc.array(
    fc.record({ kind, of, from: fc.nat({ max: 4000 }), lasts: fc.nat({ max: 2000 }), delay: fc.nat({ max: 900 }) }),
    { maxLength: 5, size: "max" },
  ),
  gaps: fc.array(
    fc.record({ kind, of, from: fc.nat({ max: 4000 }), lasts: fc.nat({ max: 2000 }) }),
    { maxLength: 3, size: "max" },
  ),
});

type Timed = Scenario["acts"];

/** Acts that come almost at once, after a time in which all may have come to rest. */
function cluster(act: fc.Arbitrary<Act>): fc.Arbitrary<Timed> {
  const soon = fc.tuple(fc.nat({ max: 40 }), act).map(([wait, what]) => ({ ...what, wait }));
  return fc.tuple(fc.integer({ min: 100, max: 1200 }), fc.array(soon, { minLength: 2, maxLength: 4 }))
    .map(([pause, acts]) => acts.map((what, place) => place === 0 ? { ...what, wait: pause } : what));
}

/** Two acts that get in each other's way, in either order. */
function meeting(one: fc.Arbitrary<Act>, other: fc.Arbitrary<Act>): fc.Arbitrary<Timed> {
  return fc.record({
    one,
    other,
    wait: fc.integer({ min: 300, max: 1200 }),
    apart: fc.nat({ max: 120 }),
    swap: fc.boolean(),
  })
    .map(({ one, other, wait, apart, swap }) => {
      const [first, second] = swap ? [other, one] : [one, other];
      return [{ ...first, wait }, { ...second, wait: apart }] as Timed;
    });
}

/** A claim that ends soon, unless that is put off in the last moment. */
const reprieve: fc.Arbitrary<Timed> = fc.record({
  claim,
  expiresInMs: fc.integer({ min: 150, max: 300 }),
  policy: fc.constantFrom("Delete", "DeleteForeground"),
  wait: fc.nat({ max: 300 }),
  after: fc.integer({ min: 200, max: 600 }),
  byMs: fc.integer({ min: 500, max: 5000 }),
}).map(({ claim, expiresInMs, policy, wait, after, byMs }) => [
  { act: "claim", claim, expiresInMs, policy, wait },
  { act: "extend", claim, byMs, wait: after },
]);

function rush(withRestarts: boolean, act: fc.Arbitrary<Act>): fc.Arbitrary<Timed> {
  const scaling = fc.record({ act: fc.constant("scale"), replicas: fc.constantFrom(0, 0, 1, 3) }) as fc.Arbitrary<Act>;
  const suspending = fc.record({ act: fc.constant("suspend"), claim, resume: fc.constant(false) }) as fc.Arbitrary<Act>;
  const coming = arrival as fc.Arbitrary<Act>;
  const part = fc.oneof(
    { arbitrary: cluster(act), weight: 4 },
    { arbitrary: meeting(coming, scaling), weight: 3 },
    { arbitrary: meeting(coming, coming), weight: 1 },
    { arbitrary: meeting(coming, suspending), weight: 1 },
    { arbitrary: reprieve, weight: 2 },
    ...(withRestarts ? [{ arbitrary: meeting(coming, restarts), weight: 3 }] : []),
  );
  return fc.array(part, { minLength: 1, maxLength: 4, size: "max" }).map((parts) => parts.flat());
}

/** Makes scenarios. @param withRestarts whether processes are restarted, too, or run twice at once */
export function scenarios(withRestarts: boolean): fc.Arbitrary<Scenario> {
  const act = withRestarts ? fc.oneof({ arbitrary: users, weight: 5 }, { arbitrary: restarts, weight: 1 }) : users;
  const timed = fc.tuple(wait, act).map(([wait, what]) => ({ ...what, wait }));
  const spread = fc.array(timed, { minLength: 1, maxLength: 14, size: "max" });
  const pair = fc.subarray(["engine" as const, "binder" as const, "keeper" as const], { maxLength: 2 });
  const none = fc.constant<Watcher[]>([]);
  return fc.record({
    replicas,
    acts: fc.oneof({ arbitrary: spread, weight: 1 }, { arbitrary: rush(withRestarts, act), weight: 2 }),
    fates: fc.array(fate, { maxLength: 8 }),
    forecast,
    hasVolumes: fc.boolean(),
    doubles: withRestarts ? fc.oneof(none, none, pair) : none,
  });
}
