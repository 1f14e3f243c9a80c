/** What the plots must not leave out or turn round; how they look is for eyes. @module */
import { expect, test } from "vitest";
import { costPlot, latencyPlot, memoryPlot } from "../../../../dev/bench/report/plot.ts";
import { aResult, frozen } from "./results.ts";

const BLUE = "#0072b2";

/** Paths drawn in the first colour, as their `d`. */
function pathsIn(svg: string, attribute: "fill" | "stroke"): string[] {
  return [...svg.matchAll(/<path[^>]*>/g)].map(([path]) => path)
    .filter((path) => path.includes(`${attribute}="${BLUE}"`) || path.includes(`${attribute}:${BLUE}`))
    .map((path) => / d="([^"]*)"/.exec(path)?.[1] ?? "");
}

test("latencyPlot() has a dot for each object of all rounds, also of what took no time at all", () => {
  const svg = latencyPlot(frozen([
    aResult(),
    aResult({ implementation: "against", samples: [] }),
    aResult({ round: 2, samples: [{ at: 0, ms: 0 }, { at: 500, ms: 40 }, { at: 60_000, ms: 5000 }] }),
  ]));
  // Each dot begins with a move.
  expect(Math.max(...pathsIn(svg, "fill").map((d) => d.split("M").length - 1))).toBe(5);
  expect(svg).toContain(">against<");
  expect(svg).not.toMatch(/NaN|undefined/);
});

test("costPlot() draws a line from the smallest size to the largest", () => {
  const series = [{ name: "this", points: [[300, 6], [30, 4], [100, 5]] as [number, number][] }];
  const svg = costPlot(frozen({ title: "CPU", xName: "members", yName: "ms", series }));
  const lines = pathsIn(svg, "stroke").map((d) => [...d.matchAll(/[ML](\S+) /g)].map(([, x]) => Number(x)));
  const xs = lines.find((found) => found.length === 3);
  expect(xs).toEqual(xs?.toSorted((a, b) => a - b));
  expect(xs).toHaveLength(3);
});

test("memoryPlot() draws our processes apart from the others, which would press them flat", () => {
  const memory = { at: [0, 10], series: { engine: [50, 60], "kube-apiserver": [800, 900] } };
  const panels = (plot: string) => plot.match(/: resident memory of /g);
  expect(panels(memoryPlot(aResult({ memory })))).toHaveLength(2);
  expect(panels(memoryPlot(aResult({ memory: { at: [0, 10], series: { engine: [50, 60] } } })))).toHaveLength(1);
  expect(() => memoryPlot(aResult())).toThrow("the run did not follow it");
});
