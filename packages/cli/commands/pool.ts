/** `hookbox pool`: shows the state of pools and how well they serve claims, and recommends sizes. @module */
import { Command } from "commander";
import { optionsOf, withAllNamespaces, withCluster } from "../clusteroptions.ts";
import { UsageError } from "../failure.ts";
import { contentOf } from "../files.ts";
import { formatOf, serialize } from "../output/print.ts";
import { aboveZero, durationMs } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

export function poolCommand(context: CommandContext): Command {
  return new Command("pool")
    .description("Show how pools serve claims, and simulate other sizes")
    .usage("status|simulate [options] [name]")
    .addCommand(statusCommand(context), { isDefault: true })
    .addCommand(simulateCommand(context));
}

function statusCommand(context: CommandContext): Command {
  const command = new Command("status")
    .description("Show members, claims of the last hour and how many of them found a member (the default)")
    .argument("[name]", "one pool (default: all)")
    .option("-o, --output <format>", "json or yaml");
  withAllNamespaces(command).action(async (name: string | undefined) => {
    const options = optionsOf<{ output?: string }>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    if (name !== undefined && options.allNamespaces) {
      throw new UsageError("Cannot show one pool of all namespaces: leave out the name or -A");
    }
    const { poolStatus } = await import("../pool/status.ts");
    const { renderPoolTable } = await import("../pool/render.ts");
    const { api, namespace } = await context.reach(options);
    const now = context.now();
    const rows = await poolStatus(api, options.allNamespaces ? undefined : namespace, name, now);
    if (format === "json" || format === "yaml") return context.stdout.write(await serialize(rows, format));
    if (rows.length === 0) return context.stderr.write(`No pools found in ${namespace} namespace.\n`);
    context.stdout.write(renderPoolTable(rows, { now, withNamespace: options.allNamespaces ?? false }));
  });
  return withCluster(command);
}

interface SimulateOptions {
  target?: string;
  rate?: string;
  trace?: string;
  for?: string;
  refill?: string;
  start?: string;
  output?: string;
}

const MORE = `
Examples:
  hookbox pool simulate                              with the claims that have come to the only pool
  hookbox pool simulate python --target 0.95         with the claims that have come to this pool
  hookbox pool simulate python --rate 2 --for 1h     if two claims per second came at random
  hookbox pool simulate --rate 2 --refill 4s         for a pool that is not there yet`;

/** Used to simulate a pool that does not exist yet, which needs no cluster. */
const NO_CLUSTER = {
  api: { send: () => Promise.reject(new Error()), watch: () => Promise.reject(new Error()) },
  namespace: "default",
};

function simulateCommand(context: CommandContext): Command {
  const command = new Command("simulate")
    .description("Say how large a pool has to be")
    .argument("[name]", "the pool (default: the only one; one that is not there yet: see --rate, --trace, --refill)")
    .option("--target <share>", "wanted share of claims that find a member (default: 0.99)")
    .option("--rate <n>", "claims per second, in place of those that have come")
    .option("--for <time>", "how long they come at that rate (default: 1h)")
    .option("--trace <file>", "when claims come: seconds or times, one in each line")
    .option("--refill <time>", "how long a new member takes, in place of what is measured")
    .option("--start <time>", "how long a claim takes that finds no member, in place of what is measured")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE)
    .action(async (name: string | undefined) => {
      const options = optionsOf<SimulateOptions>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const { parseTrace, poolSimulation } = await import("../pool/study.ts");
      const { renderSimulation } = await import("../pool/render.ts");
      const number = (option: string, text?: string) => text === undefined ? undefined : aboveZero(option, text);
      const seconds = (option: string, text?: string) =>
        text === undefined ? undefined : durationMs(option, text) / 1000;
      const study = {
        name,
        target: number("--target", options.target),
        rate: number("--rate", options.rate),
        spanSeconds: seconds("--for", options.for),
        refillSeconds: seconds("--refill", options.refill),
        startSeconds: seconds("--start", options.start),
        trace: options.trace === undefined ? undefined : parseTrace(await contentOf(options.trace)),
      };
      const isPlanned = name === undefined && (study.rate !== undefined || study.trace !== undefined);
      const { api, namespace } = isPlanned ? NO_CLUSTER : await context.reach(options);
      const found = await poolSimulation(api, { ...study, namespace });
      const text = format === "json" || format === "yaml" ? await serialize(found, format) : renderSimulation(found);
      context.stdout.write(text);
    });
  return withCluster(command);
}
