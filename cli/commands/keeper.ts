/** `hookbox keeper`: the keeper. Takes the arguments of keeper/main.ts. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { CommandContext } from "../commandcontext.ts";

export function keeperCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "keeper",
    description: "Run the keeper: expiry, Events, metrics; and the binder with it",
    usage: "[options]",
    help: async () => (await import("../../keeper/options.ts")).HELP,
    load: () => import("../../keeper/main.ts"),
  });
}
