/** All hooks there are, and the command line of a process that runs them together. HOOK_FLAGS of serveroptions.ts repeats their flags. @module */
import type { HookCalls } from "../packages/webhook/hook.ts";
import { type CommandLine, type Options, readOptions } from "../packages/webhook/options.ts";
import { helpOf, SERVER_OPTIONS, type ServerSettings } from "../packages/webhook/serveroptions.ts";
import { sandboxHook } from "./sandbox/hook.ts";
import { OPTIONS as SANDBOX_OPTIONS, type SandboxConfig } from "./sandbox/options.ts";
import { sandboxClaimHook } from "./sandboxclaim/hook.ts";
import { type ClaimConfig, OPTIONS as CLAIM_OPTIONS } from "./sandboxclaim/options.ts";
import { sandboxTemplateHook } from "./sandboxtemplate/hook.ts";
import { OPTIONS as TEMPLATE_OPTIONS, type TemplateConfig } from "./sandboxtemplate/options.ts";
import { sandboxWarmPoolHook } from "./sandboxwarmpool/hook.ts";
import { OPTIONS as POOL_OPTIONS, type WarmPoolConfig } from "./sandboxwarmpool/options.ts";

/** The settings of all hooks, and of the server that they share. */
export interface HookSettings extends ServerSettings, SandboxConfig, ClaimConfig, TemplateConfig, WarmPoolConfig {}

interface AnyHook {
  name: string;
  options: Options<object>;
  make(settings: HookSettings): HookCalls;
}

const HOOKS: readonly AnyHook[] = [
  { name: "sandbox", options: SANDBOX_OPTIONS, make: sandboxHook },
  { name: "sandboxclaim", options: CLAIM_OPTIONS, make: sandboxClaimHook },
  { name: "sandboxtemplate", options: TEMPLATE_OPTIONS, make: sandboxTemplateHook },
  { name: "sandboxwarmpool", options: POOL_OPTIONS, make: sandboxWarmPoolHook },
];

const OPTIONS: Options<HookSettings> = {
  ...SERVER_OPTIONS,
  ...SANDBOX_OPTIONS,
  ...CLAIM_OPTIONS,
  ...TEMPLATE_OPTIONS,
  ...POOL_OPTIONS,
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
