/** Writes the table that compares hookbox with the Go controller, with one row for each shape of load. @module */
import { median, type Result } from "../result.ts";
import { combine, costOf, distinct, type Run, runsOf, titleOf } from "./rows.ts";
import { type Column, formatFigure, table } from "./table.ts";

const FIGURES = {
  perSecond: "per second",
  p50: "p50 ms",
  p99: "p99 ms",
  cpu: "own CPU ms",
  clusterCPU: "cluster CPU ms",
  writes: "writes",
  reads: "reads",
} as const;
type FigureName = keyof typeof FIGURES;
const FIGURE_NAMES = Object.keys(FIGURES) as FigureName[];

/** One figure, compared. */
interface FigureComparison {
  /** Median of hookbox's rounds; undefined: no round has the figure. */
  hookbox: number | undefined;
  /** The same for the Go controller. */
  goController: number | undefined;
  /**
   * Hookbox's median divided by the Go controller's. Only rounds in which both have the figure count. Undefined: there
   * is no such round, or the Go controller's median is 0.
   */
  ratio: number | undefined;
  /** The smallest and the largest ratio of a single round; undefined: there is only one round. */
  spread: [least: number, most: number] | undefined;
}

/** The figures of hookbox and of the Go controller for one shape in one size. */
interface Comparison {
  shape: string;
  size: string;
  /** Which hookbox: `this` (the checkout), `against` (another checkout), or the name of a layout. */
  implementation: string;
  figures: Record<FigureName, FigureComparison>;
  /** Number of violations by hookbox and by the Go controller. */
  violations: [hookbox: number, goController: number];
}

/**
 * Compares each run of hookbox with the Go controller's run of the same shape and size. Leaves out shapes that the Go
 * controller did not run.
 *
 * @param goController name of the Go controller in `results`
 */
export function compareWithGoController(results: readonly Result[], goController: string): Comparison[] {
  const runs = runsOf(results);
  return runs.filter(({ implementation }) => implementation !== goController).flatMap((run) => {
    const other = runs.find(({ implementation, shape, size }) =>
      implementation === goController && shape === run.shape && size === run.size
    );
    return other ? [compare(run, other)] : [];
  });
}

function compare(run: Run, goController: Run): Comparison {
  const [ours, theirs] = [measuredOf(run), measuredOf(goController)];
  const entryOf = (name: FigureName) => [name, compareFigure(valuesOf(ours, name), valuesOf(theirs, name))] as const;
  const { shape, size, implementation } = run;
  return {
    shape,
    size,
    implementation,
    figures: Object.fromEntries(FIGURE_NAMES.map(entryOf)) as Comparison["figures"],
    violations: [violationsOf(run), violationsOf(goController)],
  };
}

/** Compares a figure. The maps contain its values by round. */
export function compareFigure(
  hookbox: ReadonlyMap<number, number>,
  goController: ReadonlyMap<number, number>,
): FigureComparison {
  const rounds = [...hookbox.keys()].filter((round) => goController.has(round));
  const valuesIn = (values: ReadonlyMap<number, number>) => rounds.map((round) => values.get(round) ?? 0);
  const [ours, theirs] = [valuesIn(hookbox), valuesIn(goController)];
  const ratios = ours.flatMap((value, index) => theirs[index] ? [value / theirs[index]] : []);
  const [ourMedian, theirMedian] = [median(ours), median(theirs)];
  return {
    hookbox: median([...hookbox.values()]),
    goController: median([...goController.values()]),
    ratio: ourMedian === undefined || !theirMedian ? undefined : ourMedian / theirMedian,
    spread: ratios.length > 1 ? [Math.min(...ratios), Math.max(...ratios)] : undefined,
  };
}

type Measured = Partial<Record<FigureName, number | undefined>>;

/** Returns the figures of a run, by round. */
function measuredOf({ results }: Run): Map<number, Measured> {
  return new Map(results.map((result) => {
    const [row] = combine([result]);
    return [result.round, row ? { ...row, ...costOf(row) } : {}];
  }));
}

function violationsOf({ results }: Run): number {
  return results.flatMap(({ violations }) => violations).length;
}

function valuesOf(rounds: ReadonlyMap<number, Measured>, name: FigureName): Map<number, number> {
  return new Map([...rounds].flatMap(([round, { [name]: value }]) => value === undefined ? [] : [[round, value]]));
}

/** Returns the table in Markdown, and notes that explain the table. */
export function describeComparison(comparisons: readonly Comparison[]): string {
  const hasLayouts = distinct(comparisons.map(({ implementation }) => implementation)).length > 1;
  const columns: Column<Comparison>[] = [
    {
      head: "shape",
      cell: (comparison) => hasLayouts ? `${titleOf(comparison)}, ${comparison.implementation}` : titleOf(comparison),
      isText: true,
    },
    ...FIGURE_NAMES.map((name) => ({
      head: FIGURES[name],
      cell: ({ figures }: Comparison) => formatComparison(figures[name]),
    })),
    { head: "violations", cell: ({ violations }) => violations.join(", ") },
  ];
  return `Hookbox ÷ the Go controller:\n\n${table(comparisons, columns)}
- A cell has this form: hookbox ÷ Go controller = ratio (smallest to largest ratio of a single round). The first two
  figures are medians of the rounds.
- A ratio above 1 in the column "per second", or below 1 in another column, means that hookbox is better.
- p50 and p99 are percentiles of the time until an object was Ready. Objects that were never Ready do not count.
- CPU, writes and reads are per requested object, measured until the pools are full again.
- Own CPU is the CPU time of hooks, keeper and Metacontroller, or of the Go controller. Cluster CPU is the CPU time of
  kube-apiserver, etcd and all other processes except the load.
- Violations: the first number is hookbox's, the second is the Go controller's.
`;
}

function formatComparison({ hookbox, goController, ratio, spread }: FigureComparison): string {
  const range = spread ? ` (${spread.map(formatFigure).join(" to ")})` : "";
  return `${formatFigure(hookbox)} ÷ ${formatFigure(goController)} = ${formatFigure(ratio)}${range}`;
}
