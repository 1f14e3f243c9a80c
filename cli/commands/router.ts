/** `hookbox router`: the way into sandboxes. Takes the arguments of router/main.ts. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { CommandContext } from "../commandcontext.ts";

export function routerCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "router",
    description: "Run the router: the way into sandboxes",
    usage: "[options]",
    help: async () => (await import("../../router/options/help.ts")).HELP,
    load: () => import("../../router/main.ts"),
  });
}
