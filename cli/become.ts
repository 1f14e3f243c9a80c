/** Turns this process into another one of hookbox': the keeper, the binder, the router, the runtime, the hooks. @module */
import process from "node:process";
import { Command } from "commander";
import type { CommandContext } from "./commandcontext.ts";

/** A command that is another process, with a command line of its own. */
export interface Becoming {
  name: string;
  description: string;
  /** Shown where the command is asked for help. */
  usage: string;
  /** Its help, beginning with a line of usage of its own. */
  help: () => Promise<string>;
  /** Imports the main module, which runs as it is loaded. */
  load: () => Promise<unknown>;
}

/** Makes the command: all that follows its name is the other process' own, `--help` too. */
export function becoming(context: CommandContext, { name, description, usage, help, load }: Becoming): Command {
  return new Command(name)
    .description(description)
    .usage(usage)
    .argument("[args...]")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      if (!args.some((arg) => arg === "--help" || arg === "-h")) return await become(args, load);
      context.stdout.write((await help()).replace(/^Usage:.*/, `Usage: ${context.program} ${name} ${usage}`));
    });
}

/** Runs it; it ends the process itself. */
async function become(args: string[], load: () => Promise<unknown>): Promise<void> {
  process.argv.splice(2, Infinity, ...args);
  // On Deno the mains look there.
  const { Deno: deno } = globalThis as { Deno?: object };
  if (deno) Object.defineProperty(deno, "args", { value: args });
  await load();
  await new Promise(() => {});
}
