/** Compares hookbox with the Go controller: a row for each shape, with the figures of both and their ratio. @module */
import type { Result } from "../result.ts";
import { combine } from "./combine.ts";
import { costOf } from "./cost.ts";
import { titleOf } from "./details.ts";
import { median } from "./percentiles.ts";
import { distinct, type Run, runsOf } from "./runs.ts";
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
export interface Pair {
  /** Medians of the rounds. */
  hookbox: number | undefined;
  peer: number | undefined;
  /**
   * Hookbox's median divided by the Go controller's, of the rounds in which both have the figure. Undefined: there is
   * no such round, or the Go controller's median is 0.
   */
  ratio: number | undefined;
  /** The smallest and the largest ratio of these rounds; undefined: there is only one round. */
  spread: [least: number, most: number] | undefined;
}

/** The figures of hookbox and of the Go controller for one shape in one size. */
export interface Comparison {
  shape: string;
  size: string;
  /** The version of hookbox: `this`, `against`, or the name of a layout. */
  implementation: string;
  figures: Record<FigureName, Pair>;
  /** Number of violations by hookbox and by the Go controller. */
  violations: [hookbox: number, peer: number];
}

/**
 * Compares every run with the Go controller's run of the same shape and size. Shapes that the Go controller did not run
 * are left out.
 */
export function compareWithPeer(results: readonly Result[], peer: string): Comparison[] {
  const runs = runsOf(results);
  return runs.filter(({ implementation }) => implementation !== peer).flatMap((run) => {
    const other = runs.find(({ implementation, shape, size }) =>
      implementation === peer && shape === run.shape && size === run.size
    );
    return other ? [compare(run, other)] : [];
  });
}

function compare(run: Run, peer: Run): Comparison {
  const [ours, theirs] = [measuredOf(run), measuredOf(peer)];
  const pairOf = (name: FigureName) => [name, pair(valuesOf(ours, name), valuesOf(theirs, name))] as const;
  const { shape, size, implementation } = run;
  return {
    shape,
    size,
    implementation,
    figures: Object.fromEntries(NAMES.map(pairOf)) as Comparison["figures"],
    violations: [violationsOf(run), violationsOf(peer)],
  };
}

/** Compares the values of a figure by round. */
export function pair(hookbox: ReadonlyMap<number, number>, peer: ReadonlyMap<number, number>): Pair {
  const rounds = [...hookbox.keys()].filter((round) => peer.has(round));
  const of = (values: ReadonlyMap<number, number>) => rounds.map((round) => values.get(round) ?? 0);
  const [ours, theirs] = [of(hookbox), of(peer)];
  const ratios = ours.flatMap((value, index) => theirs[index] ? [value / theirs[index]] : []);
  const [one, base] = [median(ours), median(theirs)];
  return {
    hookbox: median([...hookbox.values()]),
    peer: median([...peer.values()]),
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
  return `Hookbox ÷ the peer:\n\n${table(comparisons, columns)}
- In each cell: hookbox ÷ the peer, medians of the rounds, and what that gives; in parentheses the least and the most
  that a single round gave. Less than 1 is better for hookbox, but of per second more is.
- CPU, writes and reads are for each object asked for, until the pools are full again. Own are the hooks, the keeper and
  Metacontroller, or the peer's one process; the cluster's are kube-apiserver, etcd and all others but the load.
- Violations are hookbox's, then the peer's. Percentiles are of the objects that became Ready.
`;
}

function pairText({ hookbox, peer, ratio, spread }: Pair): string {
  const range = spread ? ` (${spread.map(figure).join(" to ")})` : "";
  return `${figure(hookbox)} ÷ ${figure(peer)} = ${figure(ratio)}${range}`;
}
