/** Scenarios as fast-check makes and shrinks them: less happens, less goes wrong, sooner. @module */
import type { Act } from "./acts.ts";
import type { Fate } from "./fates.ts";
import type { Forecast } from "./weather.ts";
import type { Scenario } from "./world.ts";
import fc from "../properties.ts";

const CLAIMS = 4;
const claim = fc.nat({ max: CLAIMS - 1 });
const member = fc.nat({ max: 3 });
const replicas = fc.nat({ max: 3 });
const cold = fc.boolean();
const kind = fc.constantFrom("Sandbox", "SandboxClaim", "SandboxWarmPool", "SandboxTemplate", "Pod");
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
    fc.record({ nth: fc.nat({ max: 80 }), outcome: fc.constantFrom("touched", "stale", "refused", "lost") }),
    { maxLength: 6 },
  ),
  mishaps: fc.array(
    fc.record({ nth: fc.nat({ max: 80 }), outcome: fc.constantFrom("lost", "twice") }),
    { maxLength: 4 },
  ),
  lags: fc.array(
    fc.record({ kind, of, from: fc.nat({ max: 4000 }), lasts: fc.nat({ max: 2000 }), delay: fc.nat({ max: 900 }) }),
    { maxLength: 5 },
  ),
  gaps: fc.array(
    fc.record({ kind, of, from: fc.nat({ max: 4000 }), lasts: fc.nat({ max: 2000 }) }),
    { maxLength: 2 },
  ),
});

/** Makes scenarios. @param withRestarts whether processes are restarted, too, or run twice at once */
export function scenarios(withRestarts: boolean): fc.Arbitrary<Scenario> {
  const act = withRestarts ? fc.oneof({ arbitrary: users, weight: 5 }, { arbitrary: restarts, weight: 1 }) : users;
  const timed = fc.tuple(fc.nat({ max: 500 }), act).map(([wait, what]) => ({ ...what, wait }));
  return fc.record({
    replicas,
    acts: fc.array(timed, { minLength: 1, maxLength: 14 }),
    fates: fc.array(fate, { maxLength: 8 }),
    forecast,
    hasVolumes: fc.boolean(),
    doubles: withRestarts
      ? fc.subarray(["engine" as const, "binder" as const, "keeper" as const], { maxLength: 2 })
      : fc.constant([]),
  });
}
