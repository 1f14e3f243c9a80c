/** `hookbox runtime`: what runs inside a sandbox. Takes the arguments of runtime/main.ts. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { CommandContext } from "../commandcontext.ts";

export function runtimeCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "runtime",
    description: "Run the runtime, the process inside a sandbox",
    usage: "[options]",
    help: async () => (await import("../../runtime/options.ts")).HELP,
    load: () => import("../../runtime/main.ts"),
  });
}
