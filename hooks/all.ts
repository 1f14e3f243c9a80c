/** All hooks there are, and the command line of a process that runs them together: nothing else knows them all. @module */
import type { HookCalls } from "../packages/webhook/hook.ts";
import { type CommandLine, type Options, readOptions } from "../packages/webhook/options.ts";
import { helpOf, SERVER_OPTIONS, type ServerSettings } from "../packages/webhook/runhook.ts";
import { sandboxHookModule } from "./sandbox/hook.ts";
import type { SandboxConfig } from "./sandbox/config.ts";
import { sandboxClaimHookModule } from "./sandboxclaim/hook.ts";
import type { ClaimConfig } from "./sandboxclaim/config.ts";
import { sandboxTemplateHookModule } from "./sandboxtemplate/hook.ts";
import { sandboxWarmPoolHookModule } from "./sandboxwarmpool/hook.ts";
import type { WarmPoolConfig } from "./sandboxwarmpool/config.ts";

/** The settings of all hooks, and of the server that they share. */
export interface HookSettings extends ServerSettings, SandboxConfig, ClaimConfig, WarmPoolConfig {}

interface AnyHook {
  name: string;
  options: Options<object>;
  make(settings: HookSettings): HookCalls;
}

const HOOKS: readonly AnyHook[] = [
  sandboxHookModule,
  sandboxClaimHookModule,
  sandboxTemplateHookModule,
  sandboxWarmPoolHookModule,
];

const OPTIONS: Options<HookSettings> = {
  ...SERVER_OPTIONS,
  ...sandboxHookModule.options,
  ...sandboxClaimHookModule.options,
  ...sandboxWarmPoolHookModule.options,
};

/** Names of all hooks, sorted. */
export const hookNames: readonly string[] = HOOKS.map(({ name }) => name).sort();

/** What the help of a process with all hooks says of its options. */
export const HOOK_OPTIONS = helpOf(HOOKS);

/** Reads the command line of a process with all hooks. @throws {TypeError | RangeError} if an option makes no sense */
export function readSettings(args: string[]): CommandLine<HookSettings> {
  return readOptions(args, OPTIONS);
}

/** Makes the named hooks, all of them if none is named. @throws {RangeError} if there is no hook of a name */
export function makeHooks(names: readonly string[], settings: HookSettings): HookCalls[] {
  return (names.length > 0 ? [...new Set(names)] : hookNames).map((name) => {
    const hook = HOOKS.find((each) => each.name === name);
    if (!hook) throw new RangeError(`Cannot serve hook "${name}": there are ${hookNames.join(", ")}`);
    return hook.make(settings);
  });
}
