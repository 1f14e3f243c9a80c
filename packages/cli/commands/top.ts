/** `hookbox top`: shows the CPU and memory usage of sandboxes. @module */
import { Command } from "commander";
import { optionsOf, withAllNamespaces, withRouter } from "../clusteroptions.ts";
import { UsageError } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import type { CommandContext } from "../commandcontext.ts";
import type { TopRequest } from "../top.ts";
import { durationMs } from "../values.ts";

interface TopOptions {
  selector?: string;
  output?: string;
  source?: string;
  sortBy: string;
  watch?: boolean;
  interval: string;
}

const ORDERS = ["name", "cpu", "memory"] as const;

const MORE = `
Numbers come from the metrics API of the cluster where it is served, else from the runtimes in the sandboxes; a line on
standard error says which.

Examples:
  hookbox top                       what each sandbox of this namespace uses
  hookbox top -A -w --sort-by cpu   all of them, the busiest first, anew every five seconds`;

export function topCommand(context: CommandContext): Command {
  const command = new Command("top")
    .description("Show processor and memory of sandboxes")
    .argument("[sandboxes...]", "names of claims or Sandboxes (default: all that are ready)")
    .option("-l, --selector <labels>", "only with these labels")
    .option("--source <source>", "metrics (the cluster's) or runtime (the sandboxes' own)")
    .option("--sort-by <column>", "name, cpu or memory, the most first", "name")
    .option("-w, --watch", "go on, and show it anew")
    .option("--interval <time>", "of -w: how long from one look to the next", "5s")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (names: string[]) => {
    const options = optionsOf<TopOptions>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    const { source, selector, watch = false, allNamespaces = false } = options;
    const sortBy = ORDERS.find((order) => order === options.sortBy);
    if (sortBy === undefined) {
      throw new UsageError(`Cannot sort by "${options.sortBy}": --sort-by takes ${ORDERS.join(", ")}`);
    }
    if (watch && format) throw new UsageError(`Cannot watch as ${format}: leave out -w or -o`);
    const intervalMs = durationMs("--interval", options.interval);
    if (source !== undefined && source !== "metrics" && source !== "runtime") {
      throw new UsageError(`Cannot use --source "${source}": it is metrics or runtime`);
    }
    if (names.length > 0 && allNamespaces) {
      throw new UsageError("Cannot show sandboxes by name in all namespaces: leave out the names or -A");
    }
    const { runTop, watchTop } = await import("../top.ts");
    const request: TopRequest = { names, selector, allNamespaces, source, format, sortBy };
    await (watch ? watchTop(context, options, request, intervalMs) : runTop(context, options, request));
  });
  return withRouter(command);
}
