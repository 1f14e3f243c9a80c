/** What is missing in the comments of a public interface. Pure. @module */
import { parseComment } from "./comment.ts";
import type { Declaration, JSDoc, Member, Symbols } from "./denodoc.ts";
import { constructorsOf, methodsOf, outline } from "./outline.ts";
import { publicMembers } from "./signature.ts";

/**
 * Lists, as "file:line name: what is missing", exports and public methods without a comment, and types that stand in a
 * signature without being exported: nobody could name them. Properties may do with their names, and so may a method
 * that replaces its parent's or is called by the language.
 *
 * @param modules the exports of each module of the package
 * @param relative makes the path of a file short
 */
export function complaints(modules: readonly (readonly Symbols[])[], relative: (filename: string) => string): string[] {
  const exported = modules.flatMap(outline);
  const names = new Set(exported.map(({ name }) => name));
  const found = exported.flatMap(({ name, declarations }) => {
    const [first] = declarations;
    const at = `${relative(first.location.filename)}:${first.location.line + 1} ${name}`;
    const own = declarations.some(({ jsDoc }) => says(jsDoc)) ? [] : [`${at}: no comment`];
    const methods = methodsOf(first).filter((overloads) => needsComment(overloads));
    const hidden = declarations.flatMap((each) => ownTypes(visible(each))).filter((type) => !names.has(type));
    return [
      ...own,
      ...methods.map(([method]) => `${at}.${method?.name}(): no comment`),
      ...[...new Set(hidden)].map((type) => `${at}: its signature names ${type}, which is not exported`),
    ];
  });
  return [...new Set(found)];
}

/** A declaration without its private members, and without constructors that no user calls. */
function visible(declaration: Declaration): unknown {
  const { def } = declaration;
  return {
    ...def,
    constructors: constructorsOf(declaration),
    properties: publicMembers(def.properties),
    methods: publicMembers(def.methods),
  };
}

/** Lists the types of this package that a declaration names. */
function ownTypes(part: unknown): string[] {
  if (Array.isArray(part)) return part.flatMap(ownTypes);
  if (typeof part !== "object" || part === null) return [];
  const { typeName, resolution } = part as { typeName?: string; resolution?: { kind: string; specifier?: string } };
  const isOurs = resolution?.kind === "local" || resolution?.specifier?.startsWith(".");
  return [...(typeName !== undefined && isOurs ? [typeName] : []), ...Object.values(part).flatMap(ownTypes)];
}

function needsComment(overloads: Member[]): boolean {
  const [first] = overloads;
  return !first?.name.startsWith("[") && !first?.isOverride && !overloads.some(({ jsDoc }) => says(jsDoc));
}

function says(jsDoc: JSDoc | undefined): boolean {
  const { text, deprecated, isInternal } = parseComment(jsDoc);
  return text !== "" || deprecated !== undefined || isInternal;
}
