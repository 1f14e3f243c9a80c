/** @module */
import { expect, test } from "vitest";
import { compareFigure, compareWithGoController } from "../../../../dev/bench/report/comparison.ts";
import { renderMarkdown } from "../../../../dev/bench/report/markdown.ts";
import type { Result } from "../../../../dev/bench/result.ts";
import { aReport, aRequest, aResult, frozen } from "./results.ts";
import { tableOf, tablesIn } from "./tables.ts";

const rounds = (...values: (number | undefined)[]) =>
  new Map(values.flatMap((value, index) => value === undefined ? [] : [[index + 1, value] as const]));

test.for([
  {
    name: "several rounds",
    reason: "the ratio is that of the medians; its spread, that of rounds of the same number",
    hookbox: rounds(20, 10, 60),
    peer: rounds(10, 40, 30),
    want: { hookbox: 20, goController: 30, ratio: 20 / 30, spread: [0.25, 2] },
  },
  {
    name: "one round",
    reason: "it has no spread",
    hookbox: rounds(3),
    peer: rounds(4),
    want: { hookbox: 3, goController: 4, ratio: 0.75, spread: undefined },
  },
  {
    name: "a round that the Go controller lacks",
    reason: "what only one of them did says nothing of both",
    hookbox: rounds(10, 90, 20),
    peer: rounds(20, undefined, 20),
    want: { hookbox: 20, goController: 20, ratio: 0.75, spread: [0.5, 1] },
  },
  {
    name: "nothing of the Go controller's",
    reason: "0 cannot be divided by",
    hookbox: rounds(4, 6),
    peer: rounds(0, 0),
    want: { hookbox: 5, goController: 0, ratio: undefined, spread: undefined },
  },
  {
    name: "nothing measured of the Go controller",
    reason: "what was not measured is no 0",
    hookbox: rounds(4),
    peer: rounds(),
    want: { hookbox: 4, goController: undefined, ratio: undefined, spread: undefined },
  },
])("pair() of $name", ({ hookbox, peer, want, reason }) => {
  expect(compareFigure(hookbox, peer), reason).toEqual(want);
});

const use = (name: string, cpuSeconds: number) => ({ name, cpuSeconds, rssMiB: 1, peakMiB: 1 });
const LOAD = { processes: use("load", 50), request: aRequest({ client: "load", verb: "create" }) };
const OURS: Partial<Result> = {
  requests: [aRequest({ count: 4 }), aRequest({ verb: "get", count: 6 }), LOAD.request],
  processes: [use("engine", 0.3), use("keeper", 0.1), use("kube-apiserver", 1), use("etcd", 0.2), LOAD.processes],
};
const GO_CONTROLLERS: Partial<Result> = {
  implementation: "peer",
  samples: [{ at: 0, ms: 200 }, { at: 1400, ms: 600 }],
  requests: [aRequest({ client: "agent-sandbox-controller", count: 16 }), LOAD.request],
  processes: [use("kube-apiserver", 2), LOAD.processes, use("peer", 0.2)],
};

/** The rows of the comparison in a report. */
function comparisonOf(...results: Partial<Result>[]): string[][] {
  return tableOf(tablesIn(aReport(results.map(aResult), { peer: "peer" })), "shape");
}

test("a report with the Go controller begins with a row for each shape: what each took, and the ratio", () => {
  expect(comparisonOf(OURS, { ...GO_CONTROLLERS, violations: ["late"] }, { ...OURS, shape: "fill" })).toEqual([
    ["shape", "per second", "p50 ms", "p99 ms", "own CPU ms", "cluster CPU ms", "writes", "reads", "violations"],
    [
      "claims",
      "2.00 ÷ 1.00 = 2.00",
      "100 ÷ 200 = 0.50",
      "300 ÷ 600 = 0.50",
      "200 ÷ 100 = 2.00",
      "600 ÷ 1,000 = 0.60",
      "2.00 ÷ 8.00 = 0.25",
      "3.00 ÷ 0 = –",
      "0, 1",
    ],
  ]);
});

test("a report with the Go controller gives the spread of several rounds, each with its like", () => {
  const slow = { round: 2, samples: [{ at: 0, ms: 400 }, { at: 0, ms: 400 }] };
  const rows = comparisonOf({ ...GO_CONTROLLERS, round: 2 }, OURS, GO_CONTROLLERS, { ...OURS, ...slow });
  expect(rows[1]?.slice(2, 4)).toEqual(["250 ÷ 200 = 1.25 (0.50 to 2.00)", "350 ÷ 600 = 0.58 (0.50 to 0.67)"]);
});

test("compareWithGoController() compares each size and each implementation of hookbox with that of the Go controller", () => {
  const sizes = [30, 100].flatMap((replicas) => {
    const parameters = { count: 2, replicas };
    const peer = { ...GO_CONTROLLERS, samples: [{ at: 0, ms: replicas }] };
    return [OURS, { ...OURS, implementation: "against" }, peer].map((one) => aResult({ ...one, parameters }));
  });
  const compared = compareWithGoController(frozen(sizes), "peer");
  expect(compared.map(({ size, implementation, figures }) => [size, implementation, figures.p50.goController])).toEqual(
    [
      ["replicas 30", "this", 30],
      ["replicas 30", "against", 30],
      ["replicas 100", "this", 100],
      ["replicas 100", "against", 100],
    ],
  );
  const rows = comparisonOf(...sizes.slice(0, 3));
  expect(rows.map(([first]) => first)).toEqual(["shape", "claims, this", "claims, against"]);
});

test("the overview has a line for the Go controller, and divides by other checkouts alone", () => {
  const report = renderMarkdown(
    aReport([OURS, { implementation: "against" }, GO_CONTROLLERS].map(aResult), { peer: "peer" }),
  );
  expect(report).toContain("| this ÷ against ");
  expect(report).toContain("| peer  ");
  expect(report).not.toContain("this ÷ peer");
});
