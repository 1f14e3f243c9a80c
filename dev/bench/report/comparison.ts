/** Compares hookbox with the Go controller: a row for each shape, with the figures of both and their ratio. @module */
import type { Result } from "../result.ts";
import { combine, costOf, distinct, type Run, runsOf, titleOf } from "./rows.ts";
import { median } from "./percentiles.ts";
import { type Column, figure, table } from "./table.ts";

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
const NAMES = Object.keys(FIGURES) as FigureName[];

/** One figure of hookbox and of the Go controller; undefined: no round has it. */
interface Pair {
  /** Medians of the rounds. */
  hookbox: number | undefined;
  goController: number | undefined;
  /**
   * Hookbox's median divided by the Go controller's, of the rounds in which both have the figure. Undefined: there is
   * no such round, or the Go controller's median is 0.
   */
  ratio: number | undefined;
  /** The smallest and the largest ratio of these rounds; undefined: there is only one round. */
  spread: [least: number, most: number] | undefined;
}

/** The figures of hookbox and of the Go controller for one shape in one size. */
interface Comparison {
  shape: string;
  size: string;
  /** The version of hookbox: `this`, `against`, or the name of a layout. */
  implementation: string;
  figures: Record<FigureName, Pair>;
  /** Number of violations by hookbox and by the Go controller. */
  violations: [hookbox: number, goController: number];
}

/**
 * Compares every run with the Go controller's run of the same shape and size. Shapes that the Go controller did not run
 * are left out.
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
  const pairOf = (name: FigureName) => [name, pair(valuesOf(ours, name), valuesOf(theirs, name))] as const;
  const { shape, size, implementation } = run;
  return {
    shape,
    size,
    implementation,
    figures: Object.fromEntries(NAMES.map(pairOf)) as Comparison["figures"],
    violations: [violationsOf(run), violationsOf(goController)],
  };
}

/** Compares the values of a figure by round. */
export function pair(hookbox: ReadonlyMap<number, number>, goController: ReadonlyMap<number, number>): Pair {
  const rounds = [...hookbox.keys()].filter((round) => goController.has(round));
  const of = (values: ReadonlyMap<number, number>) => rounds.map((round) => values.get(round) ?? 0);
  const [ours, theirs] = [of(hookbox), of(goController)];
  const ratios = ours.flatMap((value, index) => theirs[index] ? [value / theirs[index]] : []);
  const [one, base] = [median(ours), median(theirs)];
  return {
    hookbox: median([...hookbox.values()]),
    goController: median([...goController.values()]),
    ratio: one === undefined || !base ? undefined : one / base,
    spread: ratios.length > 1 ? [Math.min(...ratios), Math.max(...ratios)] : undefined,
  };
}

type Measured = Partial<Record<FigureName, number | undefined>>;

/** Returns the figures of each round. */
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

/** Writes the table, and notes that explain it. */
export function describeComparison(comparisons: readonly Comparison[]): string {
  const several = distinct(comparisons.map(({ implementation }) => implementation)).length > 1;
  const columns: Column<Comparison>[] = [
    {
      head: "shape",
      cell: (one) => several ? `${titleOf(one)}, ${one.implementation}` : titleOf(one),
      words: true,
    },
    ...NAMES.map((name) => ({ head: FIGURES[name], cell: ({ figures }: Comparison) => pairText(figures[name]) })),
    { head: "violations", cell: ({ violations }) => violations.join(", ") },
  ];
  return `Hookbox ÷ the Go controller:\n\n${table(comparisons, columns)}
- Each cell contains the median of the rounds of hookbox ÷ that of the Go controller, and the ratio. The parentheses
  contain the smallest and the largest ratio of a single round. For per second, a ratio above 1 is better for hookbox;
  for all other figures, a ratio below 1 is.
- CPU, writes and reads are for each object asked for, until the pools are full again. Own CPU is that of the hooks, the
  keeper and Metacontroller, or of the Go controller's one process. Cluster CPU is that of kube-apiserver, etcd and all
  other processes except the load.
- Violations are hookbox's, then the Go controller's. Percentiles are of the objects that became Ready.
`;
}

function pairText({ hookbox, goController, ratio, spread }: Pair): string {
  const range = spread ? ` (${spread.map(figure).join(" to ")})` : "";
  return `${figure(hookbox)} ÷ ${figure(goController)} = ${figure(ratio)}${range}`;
}
