/** One run of one shape on one stage, measured. @module */
import { startMeter } from "./measure/processes.ts";
import { hookUseBetween, readHookUse } from "./measure/hookcalls.ts";
import type { HookUse, ProcessUse, RequestCount, Result } from "./result.ts";
import type { Arena, Measured } from "./shapes/arena.ts";
import { budgetFaults } from "./shapes/checks.ts";
import { runClaims } from "./shapes/claims.ts";
import { runCommands } from "./shapes/commands.ts";
import { runMembers } from "./shapes/members.ts";
import { runSandboxes } from "./shapes/sandboxes.ts";
import { parametersOf, type Shape } from "./shapes/shape.ts";
import type { Stage } from "./stage/stage.ts";

const RUNS: Record<Shape["asks"], (arena: Arena, shape: Shape) => Promise<Measured>> = {
  claims: runClaims,
  commands: runCommands,
  members: runMembers,
  sandboxes: runSandboxes,
};

/** Who ran, and in which round. */
export interface Turn {
  implementation: string;
  round: number;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** Runs a shape. @throws if it cannot begin */
export async function runShape(
  shape: Shape,
  stage: Stage,
  { implementation, round, say, signal }: Turn,
): Promise<Result> {
  const ending = new AbortController();
  const meter = startMeter(stage.processes, shape.followsMemory ? 10_000 : 500);
  let processes: ProcessUse[] = [];
  let hooks: HookUse[] = [];
  let requests: RequestCount[] = [];
  let before: { processes: ProcessUse[]; hooks: HookUse[] } = { processes: [], hooks: [] };
  const profiled = Promise.withResolvers<void>();
  let profile: Promise<void> | undefined;
  const arena: Arena = {
    api: stage.api,
    signal: AbortSignal.any([signal, ending.signal]),
    say,
    ...(stage.command ? { command: stage.command } : {}),
    async begin() {
      await stage.requests.begin();
      before = { processes: meter.read(), hooks: await readHookUse(stage.hookURLs) };
      profile = stage.profile?.(profiled.promise);
    },
    async end() {
      processes = usedBetween(before.processes, meter.read());
      hooks = hookUseBetween(before.hooks, await readHookUse(stage.hookURLs));
      requests = await stage.requests.end();
      profiled.resolve();
      await profile;
    },
  };
  try {
    const measured = await RUNS[shape.asks](arena, shape);
    const memory = shape.followsMemory ? { memory: meter.memory() } : {};
    const parameters = parametersOf(shape);
    const turn = { shape: shape.name, implementation, round, parameters };
    const result = { ...turn, ...measured, requests, processes, hooks, ...memory };
    return { ...result, violations: [...result.violations, ...budgetFaults(shape.budget, result)] };
  } finally {
    meter.stop();
    ending.abort();
  }
}

function usedBetween(before: readonly ProcessUse[], after: readonly ProcessUse[]): ProcessUse[] {
  return after.map((use, index) => ({ ...use, cpuSeconds: use.cpuSeconds - (before[index]?.cpuSeconds ?? 0) }));
}
