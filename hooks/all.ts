/** All hooks there are, and the command line of a process that runs them together. @module */
import { defaultsOf, type Program } from "../packages/process/flags.ts";
import type { HookCalls } from "../packages/webhook/hook.ts";
import { HOOK_FLAGS, type HookSettings } from "./flags.ts";
import { sandboxHook } from "./sandbox/hook.ts";
import { sandboxClaimHook } from "./sandboxclaim/hook.ts";
import { sandboxTemplateHook } from "./sandboxtemplate/hook.ts";
import { sandboxWarmPoolHook } from "./sandboxwarmpool/hook.ts";

const HOOKS: Readonly<Record<string, (settings: HookSettings) => HookCalls>> = {
  sandbox: sandboxHook,
  sandboxclaim: sandboxClaimHook,
  sandboxtemplate: sandboxTemplateHook,
  sandboxwarmpool: sandboxWarmPoolHook,
};

/** Names of all hooks, sorted. */
export const hookNames: readonly string[] = Object.keys(HOOKS).sort();

/** A process that serves several hooks. */
export const SERVE = {
  name: "hookbox serve",
  operands: "[hook…]",
  about: `Serves hooks in one process, each at /<hook>/sync. Without names it serves all of them: ${
    hookNames.join(", ")
  }.`,
  flags: HOOK_FLAGS,
} satisfies Program;

/** What the settings are without a command line. */
export const DEFAULT_SETTINGS: HookSettings = defaultsOf(HOOK_FLAGS);

/** Makes the named hooks, all of them if none is named. @throws {RangeError} if there is no hook of a name */
export function makeHooks(names: readonly string[], settings: HookSettings): HookCalls[] {
  return (names.length > 0 ? [...new Set(names)] : hookNames).map((name) => {
    const make = Object.hasOwn(HOOKS, name) ? HOOKS[name] : undefined;
    if (!make) throw new RangeError(`Cannot serve hook "${name}": there are ${hookNames.join(", ")}`);
    return make(settings);
  });
}
