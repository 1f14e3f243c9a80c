/** Renders a page of reference from what modules export. Pure; the Markdown is not formatted yet. @module */
import { type Comment, parseComment } from "./comment.ts";
import type { Declaration, Definition, FunctionDef, JSDoc, Member, Symbols } from "./denodoc.ts";
import { anchor, createLinks, type Links } from "./links.ts";
import { constructorsOf, type Entry, GROUPS, methodsOf, outline, propertiesOf } from "./outline.ts";
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
  const anchors = outlines.flatMap(({ part, entries }) => entries.flatMap((entry) => anchorsOf(entry, part)));
  const links = createLinks(new Map(anchors));
  const sections = outlines.map(({ part, entries }) => partText(part, entries, links));
  return [`# ${title}`, note, ...sections].join("\n\n");
}

/** Where an export and its calls are described: `Sandbox.kill` may be linked to, too. */
function anchorsOf(entry: Entry, part: Part): [string, string][] {
  if (isRow(entry)) return [[entry.name, anchor(errorsHeading(part))]];
  const calls = methodsOf(entry.declarations[0]).map(([method]): [string, string] => [
    `${entry.name}.${method?.name}`,
    anchor(callHeading(entry.name, method)),
  ]);
  return [[entry.name, anchor(entry.name)], ...calls];
}

function errorsHeading({ specifier }: Part): string {
  return `Errors of ${specifier}`;
}

/** `Sandbox.create()` of a class, `sandbox.kill()` of its objects. */
function callHeading(owner: string, method: Member | undefined): string {
  const instance = owner.replace(/^([A-Z]+)(?=[A-Z][a-z]|$)|^[A-Z]/, (first) => first.toLowerCase());
  const { name = "", isStatic = false } = method ?? {};
  return `${isStatic ? owner : instance}${name.startsWith("[") ? "" : "."}${name}()`;
}

/** An error that has nothing of its own is a row of a table. */
function isRow({ group, declarations: [first] }: Entry): boolean {
  return group === "Errors" && propertiesOf(first).length === 0 && methodsOf(first).length === 0;
}

function partText(part: Part, entries: Entry[], links: Links): string {
  const { specifier, comment } = part;
  const sections = entries.filter((entry) => !isRow(entry)).map((entry) => entryText(entry, links));
  const errors = entries.filter(isRow);
  return [
    `## ${specifier}`,
    links.text(comment.text),
    ...remarks(comment, links),
    contents(entries, links),
    ...sections,
    ...(errors.length > 0 ? [`### ${errorsHeading(part)}`, errorTable(errors, links)] : []),
  ].join("\n\n");
}

function contents(entries: Entry[], links: Links): string {
  const groups = GROUPS.map((group) => ({ group, found: entries.filter((entry) => entry.group === group) }));
  return groups.filter(({ found }) => found.length > 0).map(({ group, found }) => {
    const names = found.map(({ name }) => links.name(name));
    const lines = found.map((entry, at) => `- ${names[at]}: ${firstSentence(entry, links)}`);
    return `**${group}**\n\n${group === "Types" || group === "Errors" ? names.join(", ") : lines.join("\n")}`;
  }).join("\n\n");
}

function firstSentence({ declarations: [first] }: Entry, links: Links): string {
  const [paragraph = ""] = parseComment(first.jsDoc).text.split(/\n\n/);
  const [sentence = ""] = links.line(paragraph).split(/(?<=[.:])\s(?=[A-Z`])/);
  return sentence;
}

function errorTable(entries: Entry[], links: Links): string {
  const rows = entries.map(({ name, declarations: [first] }) => {
    const { text } = parseComment(first.jsDoc);
    return `| \`${name}\` | ${links.name(String(first.def.extends))} | ${links.cell(text)} |`;
  });
  return ["| error | is a | when |", "| --- | --- | --- |", ...rows].join("\n");
}

function entryText({ name, declarations }: Entry, links: Links): string {
  const [first] = declarations;
  const { kind, def } = first;
  if (kind === "function") {
    return [`### ${name}`, ...callTexts(declarations.map(callOf(`function ${name}`)), links)].join("\n\n");
  }
  const comment = parseComment(first.jsDoc);
  const signature = declarationText(name, first);
  const isPlain = signature === `${kind} ${name}`;
  return [
    `### ${name}`,
    ...(isPlain ? [] : [signatureBlock([signature])]),
    links.text(comment.text),
    ...inherited(def.extends, links),
    ...remarks(comment, links),
    ...(kind === "class" || kind === "interface" ? membersText(name, first, links) : []),
  ].join("\n\n");
}

/** What it has from a parent stands there. */
function inherited(parents: Definition["extends"], links: Links): string[] {
  const names = typeof parents === "string" ? [parents] : (parents ?? []).map(({ value }) => String(value?.typeName));
  const known = names.filter((name) => links.has(name)).map((name) => links.name(name));
  return known.length === 0 ? [] : [`Has all of ${known.join(" and of ")}, too.`];
}

function membersText(name: string, declaration: Declaration, links: Links): string[] {
  const properties = propertiesOf(declaration);
  const made = constructorsOf(declaration).map(({ jsDoc, params }) => ({
    jsDoc,
    def: { params },
    prefix: `new ${name}`,
  }));
  return [
    ...(properties.length > 0 ? [propertyTable(properties, links)] : []),
    ...(made.length > 0 ? [`#### new ${name}()`, ...callTexts(made, links)] : []),
    ...methodsOf(declaration).flatMap((methods) => [
      `#### ${callHeading(name, methods[0])}`,
      ...callTexts(methods.map((method) => callOf(methodPrefix(method))(method)), links),
    ]),
  ];
}

interface Call {
  prefix: string;
  jsDoc: JSDoc | undefined;
  def: FunctionDef;
}

function callOf(prefix: string): (from: Member | Declaration) => Call {
  return (from) => ({
    prefix,
    jsDoc: from.jsDoc,
    def: "functionDef" in from && from.functionDef
      ? from.functionDef
      : { params: [], ...("def" in from ? from.def : from) },
  });
}

/** Overloads without a comment share that of the one before; the first one, of the next. */
function callTexts(calls: readonly Call[], links: Links): string[] {
  const blocks: Call[][] = [];
  for (const call of calls) {
    const last = blocks.at(-1);
    if (last && !(call.jsDoc && last.some(({ jsDoc }) => jsDoc))) last.push(call);
    else blocks.push([call]);
  }
  return blocks.flatMap((block) => {
    const comment = parseComment(block.find(({ jsDoc }) => jsDoc)?.jsDoc);
    const signatures = block.map(({ prefix, def }) => functionText(prefix, def));
    return [signatureBlock(signatures), links.text(comment.text), ...remarks(comment, links, block[0]?.def)];
  });
}
