/** Collects the examples of Markdown pages, those of comments among them: docs/sdk.md shows them all. Pure. @module */

/** What is to be done with an example: a compiler looks at all of them. */
export type Treatment = "check" | "run" | "cluster";

/** A fenced block of TypeScript. */
export interface Example {
  /** Of the page, as it was given. */
  file: string;
  /** Of its first line of code, from 1. */
  line: number;
  /** `check` for a block that says nothing, `run` for one that needs no cluster, `cluster` for one that does. */
  treatment: Treatment;
  code: string;
}

const FENCE = /^([ \t]*)```ts(?:[ \t]+(\S+))?[ \t]*\n([\s\S]*?)^\1```[ \t]*$/gm;
const TREATMENTS: Record<string, Treatment | undefined> = { check: "check", run: "run", cluster: "cluster" };

/**
 * Lists the blocks that open with ` ```ts `, ` ```ts run ` or ` ```ts cluster ` in the order of the page; those with
 * ` ```ts ignore ` are left out. A page hides the mark when it is shown.
 *
 * @throws {SyntaxError} if a block has another mark
 */
export function examplesOf(file: string, markdown: string): Example[] {
  return [...markdown.matchAll(FENCE)].flatMap(
    ({ index, 0: block, 1: indent = "", 2: mark = "check", 3: body = "" }) => {
      if (mark === "ignore") return [];
      const line = markdown.slice(0, index + block.indexOf("\n")).split("\n").length + 1;
      const treatment = TREATMENTS[mark];
      if (!treatment) throw new SyntaxError(`Cannot treat the example in ${file}:${line}: its mark is "${mark}"`);
      return [{ file, line, treatment, code: body.replaceAll(new RegExp(`^${indent}`, "gm"), "") }];
    },
  );
}

/**
 * Returns its code as a module of the checkout: what users import from the package comes from the sources.
 *
 * @param entries file of each specifier, relative to where the module will be: `{"hookbox": "../sdk/mod.ts"}`
 */
export function moduleOf({ code }: Example, entries: Record<string, string>): string {
  const imported = code.replace(/(\bfrom\s+|\bimport\s*\(?\s*)"([^"]+)"/g, (all, before, specifier) => {
    const entry = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
    return entry === undefined ? all : `${before}"${entry}"`;
  });
  return `${imported}\nexport {};\n`;
}
