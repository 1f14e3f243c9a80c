/** Renders a page of reference from what modules export. Pure; the Markdown is not formatted yet. @module */
import { type Comment, parseComment } from "./comment.ts";
import type { Member, Symbols } from "./denodoc.ts";
import { anchor, createLinks, type Links } from "./links.ts";
import { type Entry, GROUPS, methodsOf, outline, propertiesOf } from "./outline.ts";
import { propertyTable, remarks, signatureBlock } from "./parts.ts";
import { declarationText, functionText, methodPrefix } from "./signature.ts";

/** A module that users import. */
export interface Part {
  /** As users import it. */
  specifier: string;
  comment: Comment;
  symbols: readonly Symbols[];
}

/** Renders the page: for each part its comment, a list of what it exports, and a section for each export. */
export function renderPage(title: string, note: string, parts: readonly Part[]): string {
  const seen = new Set<string>();
  const outlines = parts.map((part) => {
    const fresh = outline(part.symbols).filter(({ name }) => !seen.has(name));
    for (const { name } of fresh) seen.add(name);
    return { part, entries: fresh };
  });
  const entries = outlines.flatMap((each) => each.entries);
  const links = createLinks(
    new Map(entries.map((entry) => [entry.name, isRow(entry) ? "errors" : anchor(entry.name)])),
  );
  const sections = outlines.map(({ part, entries }) => partText(part, entries, links));
  return [`# ${title}`, note, ...sections].join("\n\n");
}

/** An error that has nothing of its own is a row of a table. */
function isRow({ group, declarations: [first] }: Entry): boolean {
  return group === "Errors" && propertiesOf(first).length === 0 && methodsOf(first).length === 0;
}

function partText({ specifier, comment }: Part, entries: Entry[], links: Links): string {
  const sections = entries.filter((entry) => !isRow(entry)).map((entry) => entryText(entry, links));
  const errors = entries.filter(isRow);
  return [
    `## ${specifier}`,
    links.text(comment.text),
    ...remarks(comment, links),
    contents(entries, links),
    ...sections,
    ...(errors.length > 0 ? [`### Errors`, errorTable(errors, links)] : []),
  ].join("\n\n");
}

function contents(entries: Entry[], links: Links): string {
  const groups = GROUPS.map((group) => ({ group, found: entries.filter((entry) => entry.group === group) }));
  return groups.filter(({ found }) => found.length > 0).map(({ group, found }) => {
    const names = found.map(({ name }) => links.name(name));
    const lines = found.map((entry, at) => `- ${names[at]}: ${firstSentence(entry, links)}`);
    return `**${group}**\n\n${group === "Types" ? names.join(", ") : lines.join("\n")}`;
  }).join("\n\n");
}

function firstSentence({ declarations: [first] }: Entry, links: Links): string {
  const [sentence = ""] = links.line(parseComment(first.jsDoc).text).split(/(?<=[.:])\s(?=[A-Z`])/);
  return sentence;
}

function errorTable(entries: Entry[], links: Links): string {
  const rows = entries.map(({ name, declarations: [first] }) => {
    const { text } = parseComment(first.jsDoc);
    return `| \`${name}\` | ${links.name(String(first.def.extends))} | ${links.cell(text)} |`;
  });
  return ["| error | is a | when |", "| --- | --- | --- |", ...rows].join("\n");
}

function entryText(entry: Entry, links: Links): string {
  const { name, declarations } = entry;
  const [first] = declarations;
  const comment = parseComment(declarations.find(({ jsDoc }) => jsDoc)?.jsDoc);
  const signatures = declarations.map((each) => declarationText(name, each)).filter((text) =>
    text !== `interface ${name}`
  );
  return [
    `### ${name}`,
    links.text(comment.text),
    ...(signatures.length > 0 ? [signatureBlock(signatures)] : []),
    ...remarks(comment, links, first.def),
    ...membersText(entry, links),
  ].join("\n\n");
}

function membersText({ name, declarations: [first] }: Entry, links: Links): string[] {
  if (first.kind !== "class" && first.kind !== "interface") return [];
  const properties = propertiesOf(first);
  const constructors = first.kind === "class" ? constructorText(name, first.def.constructors, links) : [];
  const instance = name.charAt(0).toLowerCase() + name.slice(1);
  return [
    ...(properties.length > 0 ? [propertyTable(properties, links)] : []),
    ...constructors,
    ...methodsOf(first).map((methods) => methodText(methods[0]?.isStatic ? name : instance, methods, links)),
  ];
}

/** A constructor is described where somebody has: the others are nobody's to call. */
function constructorText(name: string, constructors: Entry["declarations"][0]["def"]["constructors"], links: Links) {
  return (constructors ?? []).filter(({ jsDoc }) => jsDoc).map(({ jsDoc, params }) => {
    const comment = parseComment(jsDoc);
    const signature = signatureBlock([functionText(`new ${name}`, { params })]);
    return [`#### new ${name}()`, links.text(comment.text), signature, ...remarks(comment, links, { params })].join(
      "\n\n",
    );
  });
}

function methodText(owner: string, methods: Member[], links: Links): string {
  const [first] = methods;
  const name = first?.name ?? "";
  const comment = parseComment(methods.find(({ jsDoc }) => jsDoc)?.jsDoc);
  const functions = methods.map((method) => ({ method, def: method.functionDef ?? { params: [], ...method } }));
  const heading = name.startsWith("[") ? `${owner}${name}()` : `${owner}.${name}()`;
  return [
    `#### ${heading}`,
    links.text(comment.text),
    signatureBlock(functions.map(({ method, def }) => functionText(methodPrefix(method), def))),
    ...remarks(comment, links, functions[0]?.def),
  ].join("\n\n");
}
