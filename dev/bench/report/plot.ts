/** Draws the plots of a report as SVG, without a browser. The same figures always give the same text. @module */
import { createRequire } from "node:module";
import type * as ECharts from "echarts";
import type { Result } from "../result.ts";
import { distinct, isOurs, titleOf } from "./rows.ts";

/** The smallest value on a logarithmic axis, in milliseconds: such an axis has no zero. */
const LEAST_MS = 0.1;

/** Data for a plot of a cost against a size. The names of the axes contain their units. */
interface CostPlot {
  title: string;
  xName: string;
  yName: string;
  /** Points in any order. */
  series: readonly Series[];
}

interface Series {
  name: string;
  points: [x: number, y: number][];
}

interface Panel {
  title: string;
  /** With its unit. */
  xName: string;
  yName: string;
  yScale: "linear" | "log";
  /** A `marked` line has a dot at each point. */
  kind: "dots" | "line" | "marked";
  series: readonly Series[];
}

const WIDTH = 900;

const HEIGHT = 440;

/** Free space around the axes of a panel. */
const EDGE = { top: 96, bottom: 64, left: 80, right: 32 };

/** If there are more names than this, the legend is a column of width `LEGEND` to the right of the plot. */
const ONE_LINE = 6;

const LEGEND = 200;

/**
 * The colours of Okabe and Ito, which colour-blind people can distinguish. Yellow is left out because it is hard to see
 * on white.
 */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

const INK = "#222222";

/**
 * Plots how long each object took against when it was asked for, on a logarithmic axis: one colour for each
 * implementation, all rounds.
 *
 * @param results of one shape in one size, at least one
 * @param size for the title, if the shape has several: `replicas 30`
 */
export function latencyPlot(results: readonly Result[], size = ""): string {
  const series = distinct(results.map(({ implementation }) => implementation)).map((name): Series => {
    const samples = results.filter(({ implementation }) => implementation === name).flatMap(({ samples }) => samples);
    return { name, points: samples.map(({ at, ms }) => [at / 1000, Math.max(ms, LEAST_MS)]) };
  });
  const title = `${titleOf({ shape: results[0]?.shape ?? "", size })}: time until Ready`;
  const [xName, yName] = ["asked for at, s", "time until Ready, ms"];
  return draw([{ title, xName, yName, yScale: "log", kind: "dots", series }]);
}

/** Plots cost against size, one line per series. */
export function costPlot({ series, ...words }: CostPlot): string {
  const sorted = series.map(({ name, points }) => ({ name, points: points.toSorted(([a], [b]) => a - b) }));
  return draw([{ ...words, yScale: "linear", kind: "marked", series: sorted }]);
}

/**
 * Plots memory over time, one line for each process: hookbox's own processes in the upper panel, the others, which are
 * larger, in the lower one.
 *
 * @throws {RangeError} if the run did not record memory
 */
export function memoryPlot({ shape, implementation, memory }: Result): string {
  if (!memory) throw new RangeError(`Cannot plot the memory of shape "${shape}": the run did not follow it`);
  const series = Object.entries(memory.series).map(([name, values]): Series => ({
    name,
    points: values.map((value, index) => [memory.at[index] ?? 0, value]),
  }));
  const panel = (whose: string, isMember: (name: string) => boolean): Panel => ({
    title: `${shape}, ${implementation}: resident memory of ${whose}`,
    xName: "time, s",
    yName: "resident memory, MiB",
    yScale: "linear",
    kind: "line",
    series: series.filter(({ name }) => isMember(name)),
  });
  const panels = [
    panel("the hooks, Metacontroller and the keeper", isOurs),
    panel("the other processes", (name) => !isOurs(name)),
  ];
  return draw(panels.filter((each) => each.series.length > 0));
}

const require = createRequire(import.meta.url);

/** Draws panels below each other, on a white background, so that they are readable on a dark page. */
function draw(panels: readonly Panel[]): string {
  // The build in one file, loaded only when something is drawn: loading its modules takes five times as long.
  const { init } = require("echarts") as typeof ECharts;
  const size = { width: WIDTH, height: HEIGHT * panels.length };
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  try {
    chart.setOption(optionOf(panels));
    return `${withoutState(chart.renderToSVGString())}\n`;
  } finally {
    chart.dispose();
  }
}

function optionOf(panels: readonly Panel[]): ECharts.EChartsOption {
  const top = (index: number) => index * HEIGHT;
  return {
    animation: false,
    backgroundColor: "#ffffff",
    textStyle: { fontFamily: "sans-serif", color: INK },
    title: panels.map(({ title }, index) => ({
      text: title,
      left: 12,
      top: top(index) + 12,
      textStyle: { fontSize: 16, color: INK },
    })),
    legend: panels.map(({ series }, index) => legendOf(series, top(index))),
    grid: panels.map(({ series }, index) => ({
      left: EDGE.left,
      right: series.length > ONE_LINE ? LEGEND + EDGE.right : EDGE.right,
      top: top(index) + EDGE.top,
      height: HEIGHT - EDGE.top - EDGE.bottom,
      outerBoundsMode: "none" as const,
    })),
    xAxis: panels.map(({ xName }, gridIndex) => ({ ...axis(xName, 32), type: "value" as const, gridIndex })),
    yAxis: panels.map(({ yName, yScale }, gridIndex) => ({
      ...axis(yName, 56),
      type: yScale === "log" ? "log" as const : "value" as const,
      minorSplitLine: { show: yScale === "log", lineStyle: { color: "#f0f0f0" } },
      gridIndex,
    })),
    series: panels.flatMap(seriesOf),
  };
}

function legendOf(series: readonly Series[], top: number): ECharts.LegendComponentOption {
  const isColumn = series.length > ONE_LINE;
  return {
    data: series.map(({ name }) => name),
    itemWidth: 16,
    textStyle: { color: INK },
    ...(isColumn
      ? { orient: "vertical", left: WIDTH - LEGEND, top: top + EDGE.top }
      : { left: EDGE.left - 4, top: top + 44 }),
    // The width of text is only an estimate, because fonts differ.
    itemGap: isColumn ? 8 : 24,
  };
}

function axis(name: string, nameGap: number) {
  return {
    name,
    nameLocation: "middle" as const,
    nameGap,
    nameTextStyle: { fontSize: 13, color: INK },
    axisLabel: { color: INK },
    axisLine: { show: true, onZero: false, lineStyle: { color: INK } },
    splitLine: { lineStyle: { color: "#d8d8d8" } },
  };
}

function seriesOf({ kind, series }: Panel, panel: number): ECharts.SeriesOption[] {
  return series.map(({ name, points }, index) => {
    const color = COLOURS[index % COLOURS.length] ?? INK;
    const common = {
      name,
      data: points,
      xAxisIndex: panel,
      yAxisIndex: panel,
      color,
      silent: true,
    };
    // All dots are drawn as one path, which needs a fraction of the text of one element for each. With no dots, this is
    // not possible.
    const dots = { large: points.length > 0, largeThreshold: 0, symbolSize: 5, itemStyle: { opacity: 0.7 } };
    if (kind === "dots") return { ...common, type: "scatter", ...dots };
    const type = index < COLOURS.length ? "solid" as const : "dashed" as const;
    return { ...common, type: "line", showSymbol: kind === "marked", symbolSize: 7, lineStyle: { width: 2, type } };
  });
}

/**
 * Removes what reacts to a mouse, and renames ids by their position: they contain a counter of everything that was
 * drawn before.
 */
function withoutState(svg: string): string {
  const names = new Map<string, string>();
  const still = svg.replace(/<style[^]*?<\/style>\s*/, "").replace(/ class="[^"]*"/g, "");
  return still.replace(/\bzr\d+-[\w-]+/g, (name) => {
    const stable = names.get(name) ?? `plot-${names.size}`;
    names.set(name, stable);
    return stable;
  });
}
