/** Checks whether a shape caused more requests than its budget allows. @module */
import { combine } from "./report/combine.ts";
import { costOf } from "./report/cost.ts";
import type { Result } from "./result.ts";
import type { Shape } from "./shapes/shape.ts";

/**
 * Reports requests to the API server above a shape's budget. If the counters do not tell who sent the requests, it
 * reports nothing.
 */
export function budgetFaults(budget: Shape["budget"], result: Result): string[] {
  if (!budget || result.requests.some(({ client }) => client === undefined)) return [];
  const [row] = combine([result]);
  const cost = row ? costOf(row) : undefined;
  return (["writes", "reads"] as const).flatMap((verb) => {
    const spent = cost?.[verb] ?? 0;
    if (spent <= budget[verb]) return [];
    return [`${spent.toFixed(2)} ${verb} for each of ${result.asked} objects: the budget is ${budget[verb]}`];
  });
}
