/** Collects the examples in Markdown pages and in comments, and converts them to modules. @module */
import { fencesOf } from "./fences.ts";

/** What to do with an example. A compiler checks all of them. */
export type Treatment = "check" | "run" | "cluster";

/** A code block with TypeScript. */
export interface Example {
  /** The file of the page, as it was given. */
  file: string;
  /** The number of its first line of code, starting at 1. */
  line: number;
  /**
   * `check` for a block without a mark, `run` for one that runs without a cluster, `cluster` for one that needs a
   * cluster.
   */
  treatment: Treatment;
  code: string;
}

const TREATMENTS: Record<string, Treatment | undefined> = { check: "check", run: "run", cluster: "cluster" };

/**
 * Lists the blocks that begin with ` ```ts `, ` ```ts run ` or ` ```ts cluster `, in the order of the page. Blocks with
 * ` ```ts ignore ` are left out. A rendered page does not show the mark.
 *
 * @throws {SyntaxError} if a block has another mark
 */
export function examplesOf(file: string, markdown: string): Example[] {
  return fencesOf(markdown, "ts").filter(({ mark }) => mark !== "ignore").map(({ line, mark = "check", text }) => {
    // A mark can be the name of a file: another test reads the block and runs it under this name.
    const treatment = mark.endsWith(".ts") ? "check" : TREATMENTS[mark];
    if (!treatment) throw new SyntaxError(`Cannot treat the example in ${file}:${line}: its mark is "${mark}"`);
    return { file, line, treatment, code: text };
  });
}

/** Returns the comments of a source file as Markdown, with each line at its number in the file. */
export function commentsOf(source: string): string {
  return source.replaceAll(/^.*$/gm, (line) => /^\s*\*(?!\/)/.test(line) ? line.replace(/^\s*\* ?/, "") : "");
}

/** Lists the names of a module's exports. */
export function exportsOf(source: string): string[] {
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) => names.split(","));
  const listed = lists.map((name) => name.trim().replace(/^type /, "").replace(/^.* as /, "")).filter(Boolean);
  const own = [
    ...source.matchAll(/^export (?:declare |abstract |async )*(?:class|function|const|interface|type) (\w+)/gm),
  ];
  return [...listed, ...own.map(([, name = ""]) => name)];
}

/** What the reader of the page knows, so that an example can use it without an import or a declaration. */
export interface Known {
  /** For each name that the package exports, how users import it. */
  exports: ReadonlyMap<string, string>;
  /** Types of values that other examples have created: `{sandbox: "Sandbox"}`. */
  values: Readonly<Record<string, string>>;
}

/**
 * Returns an example as a module of the checkout. Imports from packages become imports from their sources, and known
 * names are declared.
 *
 * @param entries the file for each specifier, relative to the folder of the module: `{"hookbox": "../sdk/mod.ts"}`
 */
export function moduleOf({ code }: Example, entries: Readonly<Record<string, string>>, known: Known): string {
  const text = prelude(code, known) + code;
  const imported = text.replace(/(\bfrom\s+|\bimport\s*\(?\s*)"([^"]+)"/g, (all, before, specifier) => {
    const entry = Object.hasOwn(entries, specifier) ? entries[specifier] : undefined;
    return entry === undefined ? all : `${before}"${entry}"`;
  });
  return `${imported}\nexport {};\n`;
}

/**
 * Declares what the code uses but does not declare. The result has only one line, so that line numbers are easy to
 * compute.
 */
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
