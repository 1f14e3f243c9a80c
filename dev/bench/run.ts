/** Runs one shape on one stage, and measures it. @module */
import { budgetFaults } from "./budget.ts";
import { type Usage, withUsage } from "./measure/usage.ts";
import type { Result } from "./result.ts";
import type { Arena, Outcome } from "./shapes/arena.ts";
import { runClaims } from "./shapes/claims.ts";
import { runCommands } from "./shapes/commands.ts";
import { runMembers } from "./shapes/members.ts";
import { runSandboxes } from "./shapes/sandboxes.ts";
import { runSDK } from "./shapes/sdk.ts";
import { parametersOf, type Shape } from "./shapes/shape.ts";
import type { Stage } from "./stage/stage.ts";

const RUNS: Record<Shape["asks"], (arena: Arena, shape: Shape) => Promise<Outcome>> = {
  claims: runClaims,
  commands: runCommands,
  members: runMembers,
  sandboxes: runSandboxes,
  sdk: runSDK,
};

/** Which implementation runs, and in which round. */
export interface Turn {
  implementation: string;
  round: number;
  /**
   * Whether the Go controller runs. It has no budget. If it cannot do something, this is a violation and does not end
   * the bench.
   */
  isPeer: boolean;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Runs a shape. @throws if it cannot begin, unless the Go controller runs */
export async function runShape(
  shape: Shape,
  stage: Stage,
  { implementation, round, isPeer, say, signal }: Turn,
): Promise<Result> {
  const ending = new AbortController();
  const used = Promise.withResolvers<Usage>();
  const arena: Arena = {
    api: stage.api,
    signal: AbortSignal.any([signal, ending.signal]),
    say,
    ...(stage.command ? { command: stage.command } : {}),
    ...(stage.sdk ? { sdk: stage.sdk } : {}),
    async measure(run) {
      const { value, usage } = await withUsage(stage, shape.followsMemory ? 10_000 : 500, run);
      used.resolve(usage);
      return value;
    },
  };
  const turn = { shape: shape.name, implementation, round, parameters: parametersOf(shape) };
  try {
    const outcome = await RUNS[shape.asks](arena, shape);
    const { memory, ...usage } = await used.promise;
    const result = { ...turn, ...usage, ...outcome, ...(shape.followsMemory ? { memory } : {}) };
    const overspent = isPeer ? [] : budgetFaults(shape.budget, result);
    return { ...result, violations: [...result.violations, ...overspent] };
  } catch (error) {
    if (!isPeer || signal.aborted) throw error;
    const none = { samples: [], figures: {}, requests: [], processes: [], hooks: [] };
    return { ...turn, ...none, seconds: 0, asked: shape.count, violations: [(error as Error).message] };
  } finally {
    ending.abort();
  }
}
