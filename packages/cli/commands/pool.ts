/** `hookbox pool`: shows the state of pools and how well they serve claims, and recommends sizes. @module */
import { Command } from "commander";
import { ageOf, humanDuration } from "../../summary/age.ts";
import type { CommandContext } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { aboveZero, contentOf, durationMs, optionsOf, withAllNamespaces, withCluster } from "../options.ts";
import { formatOf, renderTable, serialize } from "../output.ts";
import type { PoolOutcome } from "../pool/simulate.ts";
import { type PoolRow, poolStatus } from "../pool/status.ts";
import { parseTrace, poolSimulation, type PoolStudy } from "../pool/study.ts";

export function definePool(command: Command, context: CommandContext): void {
  command
    .usage("status|simulate [options] [name]")
    .addCommand(createStatus(context), { isDefault: true })
    .addCommand(createSimulate(context));
}

function createStatus(context: CommandContext): Command {
  const command = new Command("status")
    .description("Show the members of pools, and how many claims of the last hour got a member (the default)")
    .argument("[name]", "one pool (default: all)")
    .option("-o, --output <format>", "json or yaml");
  withAllNamespaces(command).action(async (name: string | undefined) => {
    const options = optionsOf<{ output?: string }>(command);
    const format = formatOf(options.output, ["json", "yaml"]);
    if (name !== undefined && options.allNamespaces) {
      throw new UsageError("Cannot show one pool of all namespaces: leave out the name or -A");
    }
    const { api, namespace } = await context.connectCluster(options);
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
  hookbox pool simulate                              for the only pool, with its recent claims
  hookbox pool simulate python --target 0.95         for the pool "python", with its recent claims
  hookbox pool simulate python --rate 2 --for 1h     for this pool, with two claims per second at random times
  hookbox pool simulate --rate 2 --refill 4s         for a pool that does not exist yet`;

/** Stands for the cluster in the simulation of a pool that does not exist yet. Such a simulation needs no cluster. */
const NO_CLUSTER = {
  api: { send: () => Promise.reject(new Error()), watch: () => Promise.reject(new Error()) },
  namespace: "default",
};

function createSimulate(context: CommandContext): Command {
  const command = new Command("simulate")
    .description("Recommend a size for a pool")
    .argument(
      "[name]",
      "the pool (default: the only one; for a new pool, omit the name and set --refill, and --rate or --trace)",
    )
    .option("--target <share>", "share of claims that should get a member (default: 0.99)")
    .option("--rate <n>", "claims per second, instead of the past claims of the pool")
    .option("--for <time>", "how long claims arrive at that rate (default: 1h)")
    .option("--trace <file>", "file with the times of claims: seconds or RFC 3339, one per line")
    .option("--refill <time>", "time until a new member is ready (default: mean of past members)")
    .option(
      "--start <time>",
      "time until a claim without a member is ready (default: mean of past claims, else as --refill)",
    )
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE)
    .action(async (name: string | undefined) => {
      const options = optionsOf<SimulateOptions>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
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
      const { api, namespace } = isPlanned ? NO_CLUSTER : await context.connectCluster(options);
      const result = await poolSimulation(api, { ...study, namespace });
      const text = format === "json" || format === "yaml" ? await serialize(result, format) : renderSimulation(result);
      context.stdout.write(text);
    });
  return withCluster(command);
}

const NONE = "<none>";

/** Formats pools as a table, as `kubectl get` does. @param withNamespace adds the column NAMESPACE */
export function renderPoolTable(
  rows: readonly PoolRow[],
  { now, withNamespace = false }: { now: Date; withNamespace?: boolean },
): string {
  const headers = ["NAME", "READY", "DESIRED", "WAITING", "SERVED (1H)", "COLD", "HIT RATE", "AGE", "WHY NOT FULL"];
  const cells = rows.map(({ name, ready, desired, waiting, served, hitRate, createdAt, notFull }) => [
    name,
    String(ready),
    String(desired),
    String(waiting),
    String(served.warm + served.cold + served.unknown),
    String(served.cold),
    hitRate === undefined ? NONE : percent(hitRate),
    ageOf(createdAt, now),
    notFull ?? NONE,
  ]);
  if (!withNamespace) return renderTable(headers, cells);
  return renderTable(["NAMESPACE", ...headers], cells.map((row, index) => [rows[index]?.namespace ?? "", ...row]));
}

/**
 * Formats the result of a simulation: its input, a row for each size, and the smallest size that reaches the target.
 */
export function renderSimulation(study: PoolStudy): string {
  const { outcomes, smallest, target, pool } = study;
  const headers = ["REPLICAS", "HIT RATE", "AT ONCE", "WAITED", "COLD", "WAIT P50", "P95", "P99", "IDLE", "NOTE"];
  const table = renderTable(headers, outcomes.map((outcome) => cellsOf(outcome, study)));
  const now = pool ? `, it has ${pool.replicas}` : "";
  return `${inputLines(study)}\n\n${table.replaceAll(/ +$/gm, "")}\nSmallest pool for a hit rate of ${
    percent(target)
  }: ${smallest}${now}\n`;
}

function inputLines({ pool, demand: { source, claims, spanSeconds }, refill, start }: PoolStudy): string {
  const subject = pool ? `Pool ${pool.namespace}/${pool.name}` : "A pool";
  const sources = { claims: "those that still exist", rate: "at random times", trace: "of the trace" };
  const per = ({ seconds, measured }: PoolStudy["refill"]) =>
    `${formatSeconds(seconds)} (${measured > 0 ? `mean of ${measured}` : "given"})`;
  const span = humanDuration(spanSeconds * 1000);
  return `${subject}: ${claims.toLocaleString("en-US")} claims in ${span}, ${sources[source]}\n` +
    `A new member takes ${per(refill)}, a cold start ${per(start)}`;
}

function cellsOf(outcome: PoolOutcome, { smallest, pool, demand: { spanSeconds } }: PoolStudy): string[] {
  const { replicas, hitRate, ready, waited, cold, wait, idleSeconds } = outcome;
  const notes = [replicas === pool?.replicas ? "now" : "", replicas === smallest ? "enough" : ""].filter(Boolean);
  return [
    String(replicas),
    percent(hitRate),
    String(ready),
    String(waited),
    String(cold),
    formatSeconds(wait.p50),
    formatSeconds(wait.p95),
    formatSeconds(wait.p99),
    // Average number of unused Sandboxes: what the pool costs in addition to the Sandboxes in use.
    spanSeconds > 0 ? (idleSeconds / spanSeconds).toFixed(1) : NONE,
    notes.join(", "),
  ];
}

/** Formats a share in percent. Rounds down, so that it shows 100.0% only if no claim was missed. */
function percent(share: number): string {
  return `${(Math.floor(share * 1000 + 1e-9) / 10).toFixed(1)}%`;
}

function formatSeconds(seconds: number): string {
  if (seconds === 0) return "0s";
  return seconds < 10 ? `${Number(seconds.toFixed(1))}s` : humanDuration(seconds * 1000);
}
