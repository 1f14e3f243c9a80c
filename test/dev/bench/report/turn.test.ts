/** @module */
import { expect, test } from "vitest";
import { describeTurn } from "../../../../dev/bench/report/markdown.ts";
import type { Result } from "../../../../dev/bench/result.ts";
import { aResult, frozen } from "./results.ts";

const TWO: Partial<Result> = {
  asked: 3,
  samples: [{ at: 0, ms: 100 }, { at: 500, ms: 500 }],
  processes: [{ name: "engine", cpuSeconds: 0.06, rssMiB: 1, peakMiB: 1 }],
};

test.for([
  { name: "a turn", changes: TWO, want: "2 of 3 Ready, 2.00 a second, p50 100 ms, p99 500 ms, own CPU 20.0 ms each" },
  {
    name: "violations",
    changes: { ...TWO, violations: ["one", "another"] },
    want: "2 of 3 Ready, 2.00 a second, p50 100 ms, p99 500 ms, own CPU 20.0 ms each, violations: 2",
  },
  {
    name: "nothing Ready",
    changes: { asked: 3, samples: [], processes: [] },
    want: "0 of 3 Ready, – a second, p50 – ms, p99 – ms, own CPU – ms each",
  },
])("a line says what a turn gave: $name", ({ changes, want }) => {
  expect(describeTurn(frozen(aResult(changes)))).toBe(want);
});
