/** `hookbox ls`: lists files of a sandbox, which is resumed if it is suspended. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { formatOf } from "../output/print.ts";
import { sandboxPath } from "../remotepath.ts";
import type { CommandContext } from "../commandcontext.ts";

interface LsOptions {
  long?: boolean;
  all?: boolean;
  output?: string;
}

export function lsCommand(context: CommandContext): Command {
  const command = new Command("ls")
    .description("List files in a sandbox")
    .argument("<sandbox[:path]>", "the sandbox, and the folder or file in it (default: its root)")
    .option("-l, --long", "with mode, size and time")
    .option("-a, --all", "also those that begin with a dot")
    .option("-o, --output <format>", "json or yaml")
    .action(async (text: string) => {
      const options = optionsOf<LsOptions>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const remote = sandboxPath(text);
      const { runLs } = await import("../ls.ts");
      const { long = false, all = false } = options;
      await runLs(context, { ...options, ...remote.namespace ? { namespace: remote.namespace } : {} }, remote, {
        long,
        all,
        format,
      });
    });
  return withRouter(command);
}
