/** Collects the examples of Markdown pages and of comments, and makes modules of them. Pure. @module */
import { fencesOf } from "./fences.ts";

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

const TREATMENTS: Record<string, Treatment | undefined> = { check: "check", run: "run", cluster: "cluster" };

/**
 * Lists the blocks that open with ` ```ts `, ` ```ts run ` or ` ```ts cluster ` in the order of the page; those with
 * ` ```ts ignore ` are left out. A page hides the mark when it is shown.
 *
 * @throws {SyntaxError} if a block has another mark
 */
export function examplesOf(file: string, markdown: string): Example[] {
  return fencesOf(markdown, "ts").filter(({ mark }) => mark !== "ignore").map(({ line, mark = "check", text }) => {
    // The name of a file: a test of its own takes it from there, and runs it.
    const treatment = mark.endsWith(".ts") ? "check" : TREATMENTS[mark];
    if (!treatment) throw new SyntaxError(`Cannot treat the example in ${file}:${line}: its mark is "${mark}"`);
    return { file, line, treatment, code: text };
  });
}

/** Returns the comments of a source file as Markdown, line by line where they stand. */
export function commentsOf(source: string): string {
  return source.replaceAll(/^.*$/gm, (line) => /^\s*\*(?!\/)/.test(line) ? line.replace(/^\s*\* ?/, "") : "");
}

/** Lists what a module exports, by name. */
export function exportsOf(source: string): string[] {
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) => names.split(","));
  const listed = lists.map((name) => name.trim().replace(/^type /, "").replace(/^.* as /, "")).filter(Boolean);
  const own = [
    ...source.matchAll(/^export (?:declare |abstract |async )*(?:class|function|const|interface|type) (\w+)/gm),
  ];
  return [...listed, ...own.map(([, name = ""]) => name)];
}

/** What a reader of the page knows: what an example may use without saying where it comes from. */
export interface Known {
  /** For each name that the package exports, how users import it. */
  exports: ReadonlyMap<string, string>;
  /** Types of what other examples have made: `{sandbox: "Sandbox"}`. */
  values: Readonly<Record<string, string>>;
}

/**
 * Returns its code as a module of the checkout: what users import from the package comes from the sources, and what a
 * reader knows is there.
 *
 * @param entries file of each specifier, relative to where the module will be: `{"hookbox": "../sdk/mod.ts"}`
 */
export function moduleOf({ code }: Example, entries: Readonly<Record<string, string>>, known: Known): string {
  const text = prelude(code, known) + code;
  const imported = text.replace(/(\bfrom\s+|\bimport\s*\(?\s*)"([^"]+)"/g, (all, before, specifier) => {
    const entry = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
    return entry === undefined ? all : `${before}"${entry}"`;
  });
  return `${imported}\nexport {};\n`;
}

/** Declares what the code uses and does not declare. In one line, so that lines are counted easily. */
function prelude(code: string, { exports, values }: Known): string {
  const declared = new Set([
    ...[...code.matchAll(/\b(?:const|let|function|class|using|type|interface)\s+(\w+)/g)].map(([, name = ""]) => name),
    ...[...code.matchAll(/\b(?:import|const)\s+(?:type\s+)?\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
      names.match(/\w+/g) ?? []
    ),
  ]);
  const used = new Set((code.match(/(?<![.\w])[A-Za-z]\w*/g) ?? []).filter((name) => !declared.has(name)));
  const given = [...used].filter((name) => Object.hasOwn(values, name));
  const types = given.flatMap((name) => values[name]?.match(/\w+/g) ?? []).filter((name) => !declared.has(name));
  const imports = [...new Set([...used, ...types])].filter((name) => exports.has(name));
  const lines = [
    ...imports.map((name) => `import { ${name} } from "${exports.get(name)}";`),
    ...given.map((name) => `declare const ${name}: ${values[name]};`),
  ];
  return lines.length === 0 ? "" : `${lines.join(" ")}\n`;
}
