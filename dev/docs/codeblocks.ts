/**
 * Finds the code blocks of Markdown pages: examples in TypeScript, and the steps of a page, which are files and
 * commands. @module
 */

/** One fenced block. */
interface Fence {
  /** The number of its first line of text, starting at 1. */
  line: number;
  /** Empty: the block names no language. */
  language: string;
  /** The word after the language; undefined: there is none. */
  mark: string | undefined;
  /** The text without the block's own indentation. */
  text: string;
}

const FENCE = /^([ \t]*)```(\w*)(?:[ \t]+(\S+))?[ \t]*\n([\s\S]*?)^\1```[ \t]*$/gm;

/** What to do with an example. A compiler checks all of them. */
type Treatment = "check" | "run" | "cluster";

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

/** What the reader of the page knows, so that an example can use it without an import or a declaration. */
interface Known {
  /** For each name that the package exports, how users import it. */
  exports: ReadonlyMap<string, string>;
  /** Types of values that other examples have created: `{sandbox: "Sandbox"}`. */
  values: Readonly<Record<string, string>>;
}

/** One fenced block of a page. */
export interface Step {
  /** The number of its first line of text, starting at 1. */
  line: number;
  /** What to do with the text: type the commands, write the file, or apply the change. */
  kind: "commands" | "file" | "change";
  /** The file's path; undefined: the text contains commands. */
  file: string | undefined;
  text: string;
  /** The marks of the block's commands, see {@link stepsOf}. */
  marks: string[];
}

const KINDS = { sh: "commands", yaml: "file", diff: "change" } as const;

/** Lists the blocks in certain languages, in the order of the page. */
export function fencesOf(markdown: string, ...languages: string[]): Fence[] {
  return [...markdown.matchAll(FENCE)].map(
    ({ index, 0: block, 1: indent = "", 2: language = "", 3: mark, 4: body = "" }) => ({
      line: markdown.slice(0, index + block.indexOf("\n")).split("\n").length + 1,
      language,
      mark,
      text: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  ).filter(({ language }) => languages.includes(language));
}

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

/**
 * Lists the blocks that begin with ` ```sh `, ` ```yaml FILE ` or ` ```diff FILE `. Blocks with the mark `elsewhere`
 * are for other sorts of clusters, and are left out.
 *
 * @param known allowed marks of commands; a block can have several, separated by commas
 * @throws {SyntaxError} if a block has another mark, or a file has no name: otherwise a typing error would leave a step
 * out
 */
export function stepsOf(page: string, markdown: string, known: readonly string[] = []): Step[] {
  return fencesOf(markdown, ...Object.keys(KINDS)).filter(({ mark }) => mark !== "elsewhere").map(
    ({ line, language, mark, text }) => {
      const kind = KINDS[language as keyof typeof KINDS];
      const marks = kind === "commands" ? mark?.split(",") ?? [] : [];
      const isKnown = kind === "commands"
        ? marks.every((one) => known.includes(one))
        : kind === "file"
        ? mark?.endsWith(".yaml")
        : mark !== undefined;
      if (!isKnown) throw new SyntaxError(`Cannot take the step in ${page}:${line}: its mark is "${mark ?? ""}"`);
      return { line, kind, file: kind === "commands" ? undefined : mark, text, marks };
    },
  );
}

/**
 * Applies a change to a text. Lines that begin with `-` are removed, lines that begin with `+` are added, and lines
 * that begin with a space show where.
 *
 * @throws {RangeError} if there is no such place, or more than one
 */
export function changed(text: string, change: string): string {
  const without = (sign: string) =>
    change.split("\n").filter((line) => !line.startsWith(sign)).map((line) => line.slice(1)).join("\n");
  const parts = text.split(without("+"));
  if (parts.length !== 2) throw new RangeError(`Cannot make the change: there are ${parts.length - 1} places for it`);
  return parts.join(without("-"));
}
