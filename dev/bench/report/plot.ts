/** Creates the plots of a report, as SVG text. @module */
import type { Result } from "../result.ts";
import { isOurs } from "./cost.ts";
import { draw, type Panel, type Series } from "./draw.ts";
import { distinct } from "./runs.ts";

/** The smallest value on a logarithmic axis, in milliseconds: such an axis has no zero. */
const LEAST_MS = 0.1;

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
  const title = `${titleOf(results[0]?.shape ?? "", size)}: time until Ready`;
  const [xName, yName] = ["asked for at, s", "time until Ready, ms"];
  return draw([{ title, xName, yName, yScale: "log", kind: "dots", series }]);
}

/** Data for a plot of a cost against a size. The names of the axes contain their units. */
export interface CostPlot {
  title: string;
  xName: string;
  yName: string;
  /** Points in any order. */
  series: readonly Series[];
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

function titleOf(shape: string, size: string): string {
  return size === "" ? shape : `${shape}, ${size}`;
}
