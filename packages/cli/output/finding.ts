/** Formats a diagnosis for people: first the cause, then the evidence, then what to do. @module */
import { styleText } from "node:util";
import { plainly } from "../terminal/plain.ts";
import type { Finding, ObjectRef } from "../../api/diagnosis/finding.ts";

/** How to format it. */
export interface FindingStyle {
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
    `${head("Object:")}${path(object)}${object.namespace === undefined ? "" : ` in namespace ${object.namespace}`}`,
    ...(since === undefined ? [] : [`${head("Since:")}${since}`]),
    ...(evidence.length === 0 ? [] : [paint("bold", "Evidence:")]),
    ...evidence.flatMap(({ object, where, text }) => [`  ${path(object)} ${where}`, `    ${flat(text)}`]),
    ...(isOk ? [] : [`${head("Do:")}${remedy}`, `${head("Waiting:")}${hopeless ? "does not help" : "may help"}`]),
    ...(chain.length > 1 ? [`${head("Chain:")}${chain.map(path).join(" → ")}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Formats a reference as kubectl does: `pod/x`. hookbox's kinds have short names. */
function path({ kind, name }: ObjectRef): string {
  const words: Record<string, string> = { SandboxClaim: "claim", SandboxWarmPool: "pool", SandboxTemplate: "template" };
  return `${words[kind] ?? kind.toLowerCase()}/${name}`;
}

/** Joins lines, because messages of other components may have several. */
function flat(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, "; ");
}
