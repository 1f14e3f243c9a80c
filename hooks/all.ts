/** All hooks there are, by name: the one place that knows them together. @module */
import { sandboxHook } from "./sandbox/hook.ts";
import { sandboxClaimHook } from "./sandboxclaim/hook.ts";
import { sandboxTemplateHook } from "./sandboxtemplate/hook.ts";
import { sandboxWarmPoolHook } from "./sandboxwarmpool/hook.ts";
import type { HookCalls } from "../packages/webhook/hook.ts";
import type { HookSettings } from "../packages/webhook/runhook.ts";

const HOOKS: Record<string, (settings: HookSettings) => HookCalls> = {
  sandbox: sandboxHook,
  sandboxclaim: sandboxClaimHook,
  sandboxtemplate: sandboxTemplateHook,
  sandboxwarmpool: sandboxWarmPoolHook,
};

/** Names of all hooks, sorted. */
export const hookNames: readonly string[] = Object.keys(HOOKS).sort();

/** Makes the named hooks, all of them if none is named. @throws {RangeError} if there is no hook of a name */
export function makeHooks(names: readonly string[], settings: HookSettings): HookCalls[] {
  return (names.length > 0 ? [...new Set(names)] : hookNames).map((name) => {
    const make = HOOKS[name];
    if (!make) throw new RangeError(`Cannot serve hook "${name}": there are ${hookNames.join(", ")}`);
    return make(settings);
  });
}
