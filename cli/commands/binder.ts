/** `hookbox binder`: the binder. Takes the arguments of binder/main.ts. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { CommandContext } from "../commandcontext.ts";

export function binderCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "binder",
    description: "Run the binder apart from the keeper: it gives claims their Sandboxes",
    usage: "[options]",
    help: async () => (await import("../../binder/options.ts")).HELP,
    load: () => import("../../binder/main.ts"),
  });
}
