/** Creates the hooks for a replay: those of this checkout, or of other modules. @module */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { HookCalls } from "../../webhook/hook.ts";
import { DEFAULT_SETTINGS, makeHooks } from "../../../hooks/all.ts";
import type { HookSettings } from "../../../hooks/flags.ts";
import { UnreadableError } from "./read.ts";

/** Creates all hooks. @param settings from the header of the recording */
export type MakeHooks = (settings: Record<string, unknown>) => Map<string, HookCalls>;

type Factory = (settings: HookSettings) => HookCalls;

/**
 * Loads hooks from modules. A module exports functions whose names end in `Hook`, as `hooks/<name>/hook.ts` does, or
 * one as its default export. Without modules, loads all hooks of this checkout.
 *
 * @throws {UnreadableError} if a module cannot be loaded or exports no hook
 */
export async function loadHooks(modules: readonly string[]): Promise<MakeHooks> {
  if (modules.length === 0) return (settings) => named(makeHooks([], completed(settings)));
  const factories = (await Promise.all(modules.map(factoriesOf))).flat();
  return (settings) => named(factories.map((make) => make(completed(settings))));
}

async function factoriesOf(module: string): Promise<Factory[]> {
  const exported: Record<string, unknown> = await import(pathToFileURL(resolve(module)).href).catch((error: Error) => {
    throw new UnreadableError(`Cannot load hook "${module}": ${error.message}`, { cause: error });
  });
  const factories = Object.entries(exported).filter(([name, value]) =>
    typeof value === "function" && /Hook$|^default$/.test(name)
  ).map(([, value]) => value as Factory);
  if (factories.length > 0) return factories;
  throw new UnreadableError(`Cannot load hook "${module}": it exports no function whose name ends in Hook`);
}

/** Names of settings in recordings of version 0.2.0. */
const FORMER_NAMES: Record<string, keyof HookSettings> = { labelDomains: "allowedLabelDomains" };

/** Adds default values for settings that the recording lacks. */
function completed(settings: Record<string, unknown>): HookSettings {
  const renamed = Object.entries(settings).map(([name, value]) => [FORMER_NAMES[name] ?? name, value]);
  return { ...DEFAULT_SETTINGS, ...Object.fromEntries(renamed) };
}

function named(hooks: HookCalls[]): Map<string, HookCalls> {
  return new Map(hooks.map((hook) => [hook.name, hook]));
}
