/** Sorts exports into the groups of a page. Knows no Markdown. @module */
import { parseComment } from "./comment.ts";
import type { Declaration, Member, Signature, Symbols } from "./denodoc.ts";
import { publicMembers } from "./signature.ts";

/** An export as a page shows it. */
export interface Entry {
  name: string;
  /** More than one for the overloads of a function. */
  declarations: [Declaration, ...Declaration[]];
  group: Group;
}

/** What has calls comes first: one looks for those. */
export const GROUPS = ["Objects", "Functions", "Constants", "Errors", "Types"] as const;
export type Group = typeof GROUPS[number];

const GROUP_OF: Record<string, Group> = { class: "Objects", function: "Functions", variable: "Constants" };

/** Lists exports in the order of the groups, and inside them of the source. Implementations of overloads are left out. */
export function outline(symbols: readonly Symbols[]): Entry[] {
  const entries = symbols.flatMap(({ name, declarations }) => {
    // What an earlier module exports, too, is a reference in a later one.
    const exported = declarations.filter((each) =>
      each.declarationKind === "export" && each.kind !== "reference" && !isInternal(each)
    );
    const [first, ...others] = overloads(exported);
    return first
      ? [{ name, declarations: [first, ...others], group: groupOf(name, first, symbols) } satisfies Entry]
      : [];
  });
  return GROUPS.flatMap((group) => entries.filter((entry) => entry.group === group));
}

function groupOf(name: string, first: Declaration, symbols: readonly Symbols[]): Group {
  if (isError(name, symbols)) return "Errors";
  const hasCalls = first.kind === "interface" && methodsOf(first).length > 0;
  return hasCalls ? "Objects" : GROUP_OF[first.kind] ?? "Types";
}

/** The constructors that users may call: one that nobody describes, or that is internal, is nobody's to call. */
export function constructorsOf({ def }: Declaration): Signature[] {
  return (def.constructors ?? []).filter((each) => parseComment(each.jsDoc).text !== "" && !isInternal(each));
}

function isInternal({ jsDoc }: Pick<Member, "jsDoc">): boolean {
  return parseComment(jsDoc).isInternal;
}

function overloads(declarations: Declaration[]): Declaration[] {
  return declarations.length > 1 && declarations.every(({ kind }) => kind === "function")
    ? declarations.filter(({ def }) => !def.hasBody)
    : declarations;
}

function isError(name: string, symbols: readonly Symbols[]): boolean {
  const parent = symbols.find((symbol) => symbol.name === name)?.declarations[0]?.def.extends;
  return typeof parent === "string" && (parent === "Error" || (parent !== name && isError(parent, symbols)));
}

/** Lists what one reads or sets, accessors included; of an error without its `name`. */
export function propertiesOf({ def, kind }: Declaration): Member[] {
  const accessors = publicMembers(def.methods).filter((member) => member.kind === "getter").map((member) => {
    const type = member.functionDef?.returnType ?? member.returnType;
    const isSet = def.methods?.some((other) => other.kind === "setter" && other.name === member.name) ?? false;
    return { ...member, ...(type && { tsType: type }), readonly: !isSet };
  });
  const properties = publicMembers(def.properties).filter((member) => !(kind === "class" && member.isOverride));
  return [...properties, ...accessors].filter((member) => !isInternal(member));
}

/** Lists what one calls: for each name all its overloads. */
export function methodsOf({ def }: Declaration): Member[][] {
  const methods = publicMembers(def.methods).filter((member) => member.kind === "method" && !isInternal(member));
  const byName = Map.groupBy(methods, ({ name, isStatic = false }) => `${isStatic} ${name}`);
  return [...byName.values()].map((members) => {
    const signatures = members.filter(({ functionDef }) => !functionDef?.hasBody);
    return members.length > 1 && signatures.length > 0 ? signatures : members;
  });
}
