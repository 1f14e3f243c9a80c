/** `hookbox why`: prints the root cause of the state of a claim, pool or Sandbox, and what to do. @module */
import { styleText } from "node:util";
import type { Command } from "commander";
import { CATALOGUE } from "../../api/diagnosis/catalogue.ts";
import type { Subject } from "../../api/diagnosis/facts.ts";
import type { Finding, ObjectRef } from "../../api/diagnosis/finding.ts";
import type { Api } from "../../kube/api.ts";
import { explain } from "../../sdk/control/facts.ts";
import { findKind } from "../../summary/kinds.ts";
import type { CommandContext } from "../commandcontext.ts";
import { withRules } from "../egress/rules.ts";
import { Ended } from "../failure.ts";
import { optionsOf, withCluster } from "../options.ts";
import { formatOf, serialize } from "../output.ts";
import { drawn, hasColor, plainly } from "../terminal.ts";

const MORE = `
A name without a kind means a claim, else a Sandbox, else a pool. The exit code is 1 if none has that name.

Examples:
  hookbox why session
  hookbox why pool/python`;

export function defineWhy(command: Command, context: CommandContext): void {
  command
    .argument("<name>", "name, claim/name, sandbox/name, pool/name or template/name")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const { api, namespace } = await context.connectCluster(options);
      const finding = await runWhy(api, name, namespace, context.signal);
      const text = format === "json" || format === "yaml"
        ? await serialize(finding, format)
        : drawn(renderFinding(finding, { color: hasColor(context.stdout, context) }));
      context.stdout.write(text);
      if (finding.code === "NotFound") throw new Ended(1);
    });
  withCluster(command);
}

/** Order in which a name without a kind is searched. */
const ANY: Subject["kind"][] = ["SandboxClaim", "Sandbox", "SandboxWarmPool"];
const ALL: Subject["kind"][] = [...ANY, "SandboxTemplate"];

/**
 * Finds out why an object is in its state. A name without a kind means the claim, else the Sandbox, else the pool.
 *
 * @param name such as `claim/demo`, or without a kind
 * @throws {RangeError} if the kind is unknown, or the name is missing
 */
export async function runWhy(api: Api, name: string, namespace: string, signal?: AbortSignal): Promise<Finding> {
  const [first = "", second, ...more] = name.split("/");
  const kind = second === undefined ? undefined : ALL.find((one) => one === findKind(first)?.kind);
  if (second !== undefined && !kind) {
    throw new RangeError(`Cannot explain "${name}": kinds are claim, sandbox, pool and template`);
  }
  if ((second ?? first) === "" || more.length > 0) {
    throw new RangeError(`Cannot explain "${name}": write a name, or kind/name such as claim/session`);
  }
  let found: Finding | undefined;
  for (const candidate of kind ? [kind] : ANY) {
    const subject: Subject = { kind: candidate, namespace, name: second ?? first };
    const finding = await withRules(api, subject, await explain(api, subject, signal), signal);
    if (kind || finding.code !== "NotFound") return finding;
    found ??= finding;
  }
  if (!found) throw new RangeError(`Cannot explain "${name}": it names nothing`);
  const summary = `There is no claim, Sandbox or pool "${name}" in namespace "${namespace}".`;
  return { ...found, summary, remedy: CATALOGUE.NotFound.remedy };
}

/** How to format it. */
interface FindingStyle {
  /** Whether to use terminal colours. */
  color: boolean;
}

/** Formats a finding as lines, each with a line end. */
export function renderFinding(finding: Finding, { color }: FindingStyle): string {
  const { isOk, hopeless, code, summary, object, since, evidence, remedy, chain } = plainly(finding);
  const paint = (style: "bold" | "green" | "red" | "yellow", text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const head = (text: string) => paint("bold", text.padEnd(10));
  const lines = [
    `${paint(isOk ? "green" : hopeless ? "red" : "yellow", code)}: ${flat(summary)}`,
    "",
    `${head("Object:")}${pathOf(object)}${object.namespace === undefined ? "" : ` in namespace ${object.namespace}`}`,
    ...(since === undefined ? [] : [`${head("Since:")}${since}`]),
    ...(evidence.length === 0 ? [] : [paint("bold", "Evidence:")]),
    ...evidence.flatMap(({ object, where, text }) => [`  ${pathOf(object)} ${where}`, `    ${flat(text)}`]),
    ...(isOk ? [] : [`${head("Do:")}${remedy}`, `${head("Waiting:")}${hopeless ? "does not help" : "may help"}`]),
    ...(chain.length > 1 ? [`${head("Chain:")}${chain.map(pathOf).join(" → ")}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Formats a reference as kubectl does, such as `pod/x`, with the short names of hookbox's kinds. */
function pathOf({ kind, name }: ObjectRef): string {
  const words: Record<string, string> = { SandboxClaim: "claim", SandboxWarmPool: "pool", SandboxTemplate: "template" };
  return `${words[kind] ?? kind.toLowerCase()}/${name}`;
}

/** Joins lines, because messages of other components may have several. */
function flat(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, "; ");
}
