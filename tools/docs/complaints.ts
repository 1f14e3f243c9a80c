/** What is missing in the comments of a public interface. Pure. @module */
import { parseComment } from "./comment.ts";
import type { Declaration, JSDoc, Member, Symbols } from "./denodoc.ts";
import { methodsOf, outline } from "./outline.ts";

/**
 * Lists, as "file:line name: what is missing", exports and public methods without a comment, and types that stand in a
 * signature without being exported: nobody could name them. Properties may do with their names, and so may a method
 * that replaces its parent's or is called by the language.
 *
 * @param relative makes the path of a file short
 */
export function complaints(symbols: readonly Symbols[], relative: (filename: string) => string): string[] {
  const at = ({ location }: Declaration) => `${relative(location.filename)}:${location.line + 1}`;
  const silent = outline(symbols).flatMap(({ name, declarations }) => {
    const [first] = declarations;
    const own = declarations.some(({ jsDoc }) => says(jsDoc)) ? [] : [`${at(first)} ${name}: no comment`];
    const methods = methodsOf(first).filter((overloads) => needsComment(overloads));
    return [...own, ...methods.map(([method]) => `${at(first)} ${name}.${method?.name}(): no comment`)];
  });
  const hidden = symbols.flatMap(({ name, declarations }) =>
    declarations.filter(({ declarationKind }) => declarationKind === "private").slice(0, 1)
      .map((declaration) => `${at(declaration)} ${name}: stands in a signature and is not exported`)
  );
  return [...silent, ...hidden];
}

function needsComment(overloads: Member[]): boolean {
  const [first] = overloads;
  return !first?.name.startsWith("[") && !first?.isOverride && !overloads.some(({ jsDoc }) => says(jsDoc));
}

function says(jsDoc: JSDoc | undefined): boolean {
  const { text, deprecated, isInternal } = parseComment(jsDoc);
  return text !== "" || deprecated !== undefined || isInternal;
}
