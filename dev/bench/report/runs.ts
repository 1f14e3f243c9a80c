/** Groups results that differ only in their round. @module */
import type { Result } from "../result.ts";

/** All rounds of one implementation with one shape in one size. */
export interface Run {
  shape: string;
  /**
   * The parameters that distinguish this size from others of the same shape, such as `replicas 30`; empty: there is
   * only one size.
   */
  size: string;
  implementation: string;
  /** In order of their rounds; at least one. */
  results: Result[];
}

/** Groups results by shape, then size, then implementation, each in the order of first occurrence. */
export function runsOf(results: readonly Result[]): Run[] {
  const implementations = distinct(results.map(({ implementation }) => implementation));
  return distinct(results.map(({ shape }) => shape)).flatMap((shape) => {
    const ofShape = results.filter((result) => result.shape === shape);
    const varying = varyingParameters(ofShape);
    const sizeOf = ({ parameters }: Result) => varying.map((name) => `${name} ${parameters[name] ?? "–"}`).join(", ");
    return distinct(ofShape.map(sizeOf)).flatMap((size) =>
      implementations.map((implementation) => ({
        shape,
        size,
        implementation,
        results: ofShape.filter((result) => result.implementation === implementation && sizeOf(result) === size)
          .sort((a, b) => a.round - b.round),
      }))
    );
  }).filter((run) => run.results.length > 0);
}

function varyingParameters(results: readonly Result[]): string[] {
  const names = distinct(results.flatMap(({ parameters }) => Object.keys(parameters)));
  return names.filter((name) => new Set(results.map(({ parameters }) => parameters[name])).size > 1);
}

/** Lists each value once, in the order of first occurrence. */
export function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
