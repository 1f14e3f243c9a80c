/** @module */
import { expect, test } from "vitest";
import { costPlot, latencyPlot, memoryPlot } from "../../../bench/report/plot.ts";
import { aResult, frozen } from "./results.ts";

const BLUE = "#0072b2";
const ORANGE = "#d55e00";

const MEMORY = {
  at: [0, 10, 20],
  series: { engine: [50, 60, 70], keeper: [40, 40, 40], "kube-apiserver": [800, 900, 950] },
};
const COST = {
  title: "CPU against size",
  xName: "members",
  yName: "CPU per claim, ms",
  series: [{ name: "this", points: [[300, 6], [30, 4], [100, 5]] as [number, number][] }],
};

const PLOTS = [
  { name: "latencyPlot()", draw: () => latencyPlot(frozen([aResult(), aResult({ implementation: "against" })])) },
  { name: "costPlot()", draw: () => costPlot(frozen(COST)) },
  { name: "memoryPlot()", draw: () => memoryPlot(frozen(aResult({ memory: MEMORY }))) },
];

/** The words of a plot, in the order of the text. */
function wordsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, words = ""]) => words);
}

/** Paths drawn in a colour, as their `d`. */
function pathsIn(svg: string, attribute: "fill" | "stroke", colour: string): string[] {
  return [...svg.matchAll(/<path[^>]*>/g)].map(([path]) => path)
    .filter((path) => path.includes(`${attribute}="${colour}"`) || path.includes(`${attribute}:${colour}`))
    .map((path) => / d="([^"]*)"/.exec(path)?.[1] ?? "");
}

/** How many dots a path has: each begins with a move. */
function dotsOf(paths: string[]): number {
  return Math.max(...paths.map((d) => d.split("M").length - 1));
}

test.for(PLOTS)("$name gives the same text twice, whatever was drawn between", ({ draw }) => {
  const first = draw();
  for (const { draw: other } of PLOTS) other();
  expect(draw()).toBe(first);
});

test.for(PLOTS)("$name stands alone: on white, without scripts, styles or what lies elsewhere", ({ draw }) => {
  const svg = draw();
  expect(svg).toMatch(/^<svg width="\d+" height="\d+" xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  expect(svg).toMatch(/<rect [^>]*fill="#ffffff"/);
  expect(svg).toContain("sans-serif");
  expect(svg).not.toMatch(/<script|<style|<animate|href="http|NaN|undefined/);
});

test("latencyPlot() has a dot for each object of all rounds, one colour per implementation", () => {
  const svg = latencyPlot(frozen([
    aResult(),
    aResult({ implementation: "against", samples: [{ at: 100, ms: 50 }] }),
    aResult({ round: 2 }),
  ]));
  expect(dotsOf(pathsIn(svg, "fill", BLUE))).toBe(4);
  expect(dotsOf(pathsIn(svg, "fill", ORANGE))).toBe(1);
  expect(wordsOf(svg)).toEqual(expect.arrayContaining(["this", "against", "asked for at, s", "time until Ready, ms"]));
});

test("latencyPlot() has a logarithmic axis, and shows what took no time at all", () => {
  const samples = [{ at: 0, ms: 0 }, { at: 500, ms: 40 }, { at: 60_000, ms: 5000 }];
  const svg = latencyPlot([aResult({ samples })]);
  expect(wordsOf(svg)).toEqual(expect.arrayContaining(["0.1", "1", "10", "100", "1,000", "10,000"]));
  expect(wordsOf(svg), "seconds").toContain("60");
  expect(dotsOf(pathsIn(svg, "fill", BLUE))).toBe(3);
});

test("latencyPlot() names the shape, and its size where there are several", () => {
  expect(wordsOf(latencyPlot([aResult()]))).toContain("claims: time until Ready");
  expect(wordsOf(latencyPlot([aResult()], "replicas 30"))).toContain("claims, replicas 30: time until Ready");
});

test("latencyPlot() names an implementation of which nothing became Ready", () => {
  expect(wordsOf(latencyPlot([aResult(), aResult({ implementation: "against", samples: [] })]))).toContain("against");
});

test("costPlot() draws a line from the smallest size to the largest, with a mark at each", () => {
  const svg = costPlot(frozen(COST));
  const xs = pathsIn(svg, "stroke", BLUE).map((d) => [...d.matchAll(/[ML](\S+) /g)].map(([, x]) => Number(x)))
    .find((found) => found.length === 3);
  expect(xs).toEqual(xs?.toSorted((a, b) => a - b));
  expect(xs).toHaveLength(3);
  const marks = pathsIn(svg, "stroke", BLUE).filter((d) => d.includes("A"));
  // One more stands in the legend.
  expect(marks).toHaveLength(4);
  expect(wordsOf(svg)).toEqual(
    expect.arrayContaining(["CPU against size", "members", "CPU per claim, ms", "this", "0"]),
  );
});

test("costPlot() names more series than fit in a line beside the plot, one below the other", () => {
  const names = Array.from({ length: 8 }, (_, index) => `kube-controller-manager-${index}`);
  const svg = costPlot({ ...COST, series: names.map((name) => ({ name, points: [[0, 1], [1, 2]] })) });
  const places = names.map((name) => new RegExp(`translate\\((\\S+) (\\S+)\\)"[^>]*>${name}<`).exec(svg)?.slice(1, 3));
  expect(new Set(places.map((place) => place?.[0])).size).toBe(1);
  expect(new Set(places.map((place) => place?.[1])).size).toBe(8);
  const [, end] = /^M\S+ \S+L(\S+) /.exec(pathsIn(svg, "stroke", BLUE).find((d) => d.includes("L")) ?? "") ?? [];
  expect(Number(end), "the line ends before the names").toBeLessThan(Number(places[0]?.[0]));
});

test("memoryPlot() draws our processes apart from the others, which would press them flat", () => {
  const words = wordsOf(memoryPlot(aResult({ memory: MEMORY })));
  expect(words).toEqual(expect.arrayContaining(["engine", "keeper", "kube-apiserver", "time, s", "70", "1,000"]));
  expect(words.filter((word) => word.startsWith("claims, this: resident memory of "))).toHaveLength(2);
});

test("memoryPlot() has one panel where all processes are of one sort", () => {
  const { engine } = MEMORY.series;
  const words = wordsOf(memoryPlot(aResult({ memory: { at: MEMORY.at, series: { engine } } })));
  expect(words.filter((word) => word.includes("resident memory of"))).toEqual([
    "claims, this: resident memory of the hooks, the engine and the keeper",
  ]);
});

test("memoryPlot() refuses a run that did not follow memory", () => {
  expect(() => memoryPlot(aResult())).toThrow(
    new RangeError('Cannot plot the memory of shape "claims": the run did not follow it'),
  );
});
