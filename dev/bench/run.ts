/**
 * Runs one shape on one stage, measures it, and checks whether it caused more requests than its budget allows. @module
 */
import { type Usage, withUsage } from "./measure/usage.ts";
import { combine, costOf } from "./report/rows.ts";
import type { Result } from "./result.ts";
import { runE2B } from "./shapes/e2b.ts";
import { runEpisodes } from "./shapes/episodes.ts";
import { runClaims, runCommands, runMembers, runSandboxes, runSDK } from "./shapes/workloads.ts";
import { parametersOf, type RunContext, type Shape, type ShapeResult } from "./shapes/shape.ts";
import type { Stage } from "./stage/stage.ts";

const RUNS: Record<Shape["workload"], (context: RunContext, shape: Shape) => Promise<ShapeResult>> = {
  claims: runClaims,
  commands: runCommands,
  e2b: runE2B,
  episodes: runEpisodes,
  members: runMembers,
  sandboxes: runSandboxes,
  sdk: runSDK,
};

/** Which implementation runs, and in which round. */
interface Turn {
  implementation: string;
  round: number;
  /**
   * Whether the Go controller runs. It has no budget. If it cannot do something, this is a violation and does not end
   * the bench.
   */
  isGoController: boolean;
  progress: (line: string) => void;
  signal: AbortSignal;
}

/** Runs a shape. @throws if it cannot begin, unless the Go controller runs */
export async function runShape(
  shape: Shape,
  stage: Stage,
  { implementation, round, isGoController, progress, signal }: Turn,
): Promise<Result> {
  const ending = new AbortController();
  const used = Promise.withResolvers<Usage>();
  const context: RunContext = {
    api: stage.api,
    signal: AbortSignal.any([signal, ending.signal]),
    progress,
    ...(stage.command ? { command: stage.command } : {}),
    ...(stage.sdk ? { sdk: stage.sdk } : {}),
    ...(stage.access ? { access: stage.access } : {}),
    async measure(run) {
      const { value, usage } = await withUsage(stage, shape.followsMemory ? 10_000 : 500, run);
      used.resolve(usage);
      return value;
    },
  };
  const turn = { shape: shape.name, implementation, round, parameters: parametersOf(shape) };
  try {
    const outcome = await RUNS[shape.workload](context, shape);
    const { memory, ...usage } = await used.promise;
    const result = { ...turn, ...usage, ...outcome, ...(shape.followsMemory ? { memory } : {}) };
    const overspent = isGoController ? [] : budgetFaults(shape.budget, result);
    return { ...result, violations: [...result.violations, ...overspent] };
  } catch (error) {
    if (!isGoController || signal.aborted) throw error;
    const none = { samples: [], figures: {}, requests: [], processes: [], hooks: [] };
    return { ...turn, ...none, seconds: 0, asked: shape.count, violations: [(error as Error).message] };
  } finally {
    ending.abort();
  }
}

/** Reports requests to the API server above a shape's budget. If the senders are not known, it reports nothing. */
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
