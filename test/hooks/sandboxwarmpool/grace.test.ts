/** The readiness grace period of a pool: it overrides the flag, and makes no member outdated. @module */
import { expect, test } from "vitest";
import { marks, syncPool } from "../../poolcalls.ts";
import { aMember, aPool } from "../../pools.ts";

test.for<{ name: string; spec: object; sandboxes: ReturnType<typeof aMember>[]; want: object }>([
  {
    name: "shorter than the flag's: a member that has had it is replaced",
    spec: { readinessGracePeriodSeconds: 30 },
    sandboxes: [aMember(1, { state: "coming", age: 30 })],
    want: { "warm-1": "stuck" },
  },
  {
    name: "longer than the flag's: a member within it stays",
    spec: { readinessGracePeriodSeconds: 900 },
    sandboxes: [aMember(1, { state: "coming", age: 899 })],
    want: {},
  },
  {
    name: "changed: members are made from the template, not from this",
    spec: { updateStrategy: { type: "Recreate" }, readinessGracePeriodSeconds: 30 },
    sandboxes: [aMember(1), aMember(2), aMember(3)],
    want: {},
  },
])("a grace period $name", ({ spec, sandboxes, want }) => {
  const answer = syncPool({ pool: aPool({ metadata: { generation: 2 }, spec }), sandboxes });
  expect(marks(answer)).toEqual(want);
});
