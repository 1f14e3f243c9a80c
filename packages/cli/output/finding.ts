/** A finding as a person reads it: the cause first, then how that is known, and what to do. Writes nothing. @module */
import { styleText } from "node:util";
import { plainly } from "../terminal/plain.ts";
import type { Finding, ObjectRef } from "../../api/diagnosis/finding.ts";

/** How it is to look. */
export interface FindingStyle {
  /** Terminal colours. */
  color: boolean;
}

/** Writes a finding as lines, the last one ended too. */
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

/** As kubectl names objects: `pod/x`; our kinds by their short words. */
function path({ kind, name }: ObjectRef): string {
  const words: Record<string, string> = { SandboxClaim: "claim", SandboxWarmPool: "pool", SandboxTemplate: "template" };
  return `${words[kind] ?? kind.toLowerCase()}/${name}`;
}

/** Messages of others come in several lines. */
function flat(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, "; ");
}
