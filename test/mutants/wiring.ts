/** Mutants of how hooks, binder and keeper are put together: what does not reach what it is for. @module */
import type { Mutant } from "./mutant.ts";

const HOOKS_TEST = ["test/wiring/hooks.test.ts"];
const TRACING_TEST = ["test/wiring/tracing.test.ts"];
const REASONS_TEST = ["test/wiring/alone/hook-reasons.test.ts"];

export const WIRING: readonly Mutant[] = [
  {
    name: "the budget of losses reaches no hook",
    file: "packages/webhook/runhook.ts",
    from: "{ log, metrics, servesMetrics, budget, ready:",
    to: "{ log, metrics, servesMetrics, ready:",
    tests: HOOKS_TEST,
  },
  {
    name: "--max-losses-per-minute sets nothing",
    file: "packages/webhook/runhook.ts",
    from: "perMinute: settings.maxLossesPerMinute",
    to: "perMinute: 600",
    tests: HOOKS_TEST,
  },
  {
    name: "answers are not counted against the budget",
    file: "packages/webhook/app.ts",
    from: "call.body, at, settings.budget)",
    to: "call.body, at)",
    tests: HOOKS_TEST,
  },
  {
    name: "hooks record what they answer for ever",
    file: "packages/webhook/telemetry.ts",
    from: "isDone ? undefined : traceContextOf(metadata)",
    to: "traceContextOf(metadata)",
    tests: TRACING_TEST,
  },
  {
    name: "no process has the binder's collector",
    file: "packages/binder/run.ts",
    from: "await bindClaims({ ...options, ...setup, namespace }",
    to: "await bindClaims({ ...options, ...setup, tracer: undefined, namespace }",
    tests: TRACING_TEST,
  },
  {
    name: "the Sandbox hook has no reasons that are looked at",
    file: "hooks/sandbox/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: REASONS_TEST,
  },
  {
    name: "the claim hook has no reasons that are looked at",
    file: "hooks/sandboxclaim/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: REASONS_TEST,
  },
  {
    name: "the template hook has no reasons that are looked at",
    file: "hooks/sandboxtemplate/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: REASONS_TEST,
  },
  {
    name: "the pool hook has no reasons that are looked at",
    file: "hooks/sandboxwarmpool/hook.ts",
    from: "    deletionReasons,\n",
    to: "",
    tests: REASONS_TEST,
  },
  {
    name: "Sandboxes are listed before claims",
    file: "packages/keeper/watches.ts",
    from: "claimsListed.promise.then(",
    to: "Promise.resolve().then(",
    tests: ["test/keeper/watches.test.ts"],
  },
];
