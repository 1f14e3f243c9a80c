/** `hookbox serve`: the hooks, all of them in one process. Takes the arguments of tools/serve. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { CommandContext } from "../commandcontext.ts";

export function serveCommand(context: CommandContext): Command {
  return becoming(context, {
    name: "serve",
    description: "Run the hooks that Metacontroller calls",
    usage: "[hook…] [options]",
    help: async () => {
      const { HOOK_OPTIONS } = await import("../../lib/runhook.ts");
      const { hookNames } = await import("../../tools/serve/hooks.ts");
      const whom = `all of them (${hookNames.join(", ")}) if none is named`;
      return `Usage:\n\nRuns hooks in one process, each at /<hook>/sync; ${whom}.\n\n${HOOK_OPTIONS}`;
    },
    load: () => import("../../tools/serve/main.ts"),
  });
}
