/**
 * Lists all hooks, and defines the command line of `hookbox serve`, which runs several hooks in one process. @module
 */
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

/** The command line of a process that serves several hooks. */
export const SERVE = {
  name: "hookbox serve",
  operands: "[hook…]",
  about: `Serves hooks in one process, each at /<hook>/sync. Without names it serves all of them: ${
    hookNames.join(", ")
  }.`,
  flags: HOOK_FLAGS,
} satisfies Program;

/** The settings that apply if no option is set. */
export const DEFAULT_SETTINGS: HookSettings = defaultsOf(HOOK_FLAGS);

/**
 * Creates the hooks with these names, or all hooks if `names` is empty. @throws {RangeError} if a name is not a hook's
 */
export function makeHooks(names: readonly string[], settings: HookSettings): HookCalls[] {
  return (names.length > 0 ? [...new Set(names)] : hookNames).map((name) => {
    const make = Object.hasOwn(HOOKS, name) ? HOOKS[name] : undefined;
    if (!make) throw new RangeError(`Cannot serve hook "${name}": there are ${hookNames.join(", ")}`);
    return make(settings);
  });
}
