/** `hookbox top`: processor and memory of sandboxes. Wakes nobody. @module */
import { Command } from "commander";
import { optionsOf, withAllNamespaces, withRouter } from "../clusteroptions.ts";
import { UsageError } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import type { CommandContext } from "../commandcontext.ts";

interface TopOptions {
  selector?: string;
  output?: string;
  source?: string;
}

const MORE = `
Numbers come from the metrics API of the cluster where it is served, else from the runtimes in the sandboxes; a line on
standard error says which.`;

export function topCommand(context: CommandContext): Command {
  const command = new Command("top")
    .description("Show processor and memory of sandboxes")
    .argument("[sandboxes...]", "names of claims or Sandboxes (default: all that are ready)")
    .option("-l, --selector <labels>", "only with these labels")
    .option("--source <source>", "metrics (the cluster's) or runtime (the sandboxes' own)")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (names: string[]) => {
    const options = optionsOf<TopOptions>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    const { source, selector, allNamespaces = false } = options;
    if (source !== undefined && source !== "metrics" && source !== "runtime") {
      throw new UsageError(`Cannot use --source "${source}": it is metrics or runtime`);
    }
    if (names.length > 0 && allNamespaces) {
      throw new UsageError("Cannot show sandboxes by name in all namespaces: leave out the names or -A");
    }
    const { runTop } = await import("../top.ts");
    await runTop(context, options, { names, selector, allNamespaces, source, format });
  });
  return withRouter(command);
}
