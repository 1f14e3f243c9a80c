/** Parts of a page: code, what is said of a call, tables of properties. Pure. @module */
import { type Comment, parseComment } from "./comment.ts";
import type { FunctionDef, Member } from "./denodoc.ts";
import { code, type Links, namesIn } from "./links.ts";
import { paramName } from "./typetext.ts";

/** A block of declarations; examples are `ts`, so whoever collects those passes over these. */
export function signatureBlock(texts: string[]): string {
  return `\`\`\`typescript\n${texts.join("\n")}\n\`\`\``;
}

/** What a comment says of a call, in this order: parameters, result, errors, examples. */
export function remarks(comment: Comment, links: Links, def?: Partial<FunctionDef>): string[] {
  const { returns, throws, deprecated, examples } = comment;
  return [
    ...(deprecated === undefined ? [] : [`**Deprecated**: ${links.text(deprecated)}`]),
    ...params(comment, links, def),
    ...(returns === undefined ? [] : [`Result: ${links.text(returns).replace(/[.]?$/, ".")}`]),
    ...(throws.length === 0 ? [] : [`Throws\n\n${throws.map((each) => `- ${thrown(each, links)}`).join("\n")}`]),
    ...examples.map(({ title, body }) => `${title ? `${links.text(title)}:\n\n` : ""}${body.trim()}`),
  ];
}

function thrown({ type, text }: { type: string; text: string }, links: Links): string {
  const names = type.split(/\s*\|\s*/).filter(Boolean).map((name) => links.name(name));
  return `${names.join(" or ")} ${links.text(text)}`.trim();
}

/** A parameter is listed if something is said of it, or its type is described on the page. */
function params({ params: said }: Comment, links: Links, def?: Partial<FunctionDef>): string[] {
  const named = (def?.params ?? []).filter((param) => param.name !== "this").map((param) => ({
    name: paramName(param),
    type: (param.left ?? param).tsType,
  }));
  const lines = named.flatMap(({ name, type }) => {
    const own = said.find((each) => each.name === name)?.text ?? "";
    const known = namesIn(type).filter((each) => links.has(each)).map((each) => links.name(each));
    if (!own && known.length === 0) return [];
    const about = own && known.length > 0
      ? `${links.text(own)} (${known.join(", ")})`
      : links.text(own) || known.join(", ");
    return [`- ${code(name)}: ${about}`];
  });
  const inner = said.filter(({ name }) => name.includes(".")).map(({ name, text }) =>
    `- ${code(name)}: ${links.text(text)}`
  );
  return lines.length + inner.length === 0 ? [] : [[...lines, ...inner].join("\n")];
}

/** A table of properties: name, type, and what is said of each with the value that holds where none is given. */
export function propertyTable(properties: Member[], links: Links): string {
  const rows = properties.map((member) => {
    const { text, default: fallback, throws } = parseComment(member.jsDoc);
    const name = `${member.isStatic ? "static " : ""}${member.name}${member.optional ? "?" : ""}`;
    const errors = throws.length === 0 ? "" : `Throws ${throws.map((each) => thrown(each, links)).join("; ")}.`;
    const about = [text, fallback === undefined ? "" : `Default: ${links.text(fallback)}.`, errors].filter(Boolean)
      .join(" ");
    return `| ${code(name)} | ${links.cell(links.type(member.tsType))} | ${links.cell(about)} |`;
  });
  return ["| name | type | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}
