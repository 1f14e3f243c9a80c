/** Reads settings of hooks as their command line has them. @module */
import { SERVE } from "../hooks/all.ts";
import type { HookSettings } from "../hooks/flags.ts";
import { readCommandLine } from "../packages/process/flags.ts";

/** Returns what the flags say. @throws {RangeError} if they make no sense, or ask for help */
export function settingsOf(...flags: string[]): HookSettings {
  const line = readCommandLine(SERVE, flags);
  if (!line) throw new RangeError("Cannot read settings: the flags ask for help");
  return line.values;
}
