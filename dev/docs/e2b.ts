/** Writes the tables of docs/e2b.md from the results of the tests of E2B's published SDKs and command line. @module */
import { tableOf, withGenerated } from "./generated.ts";

/** What a method of the SDKs for JavaScript does on hookbox, as test/e2b/methods.json has it. */
export interface MethodRow {
  method: string;
  result: "works" | "differs" | "refused";
  /** The difference, or the sentence with which it is refused. */
  note?: string;
}

/** What a method of the SDKs for Python does on hookbox, as test/e2b/methods-python.json has it. */
export interface PythonRow extends MethodRow {
  /** The name that the method has, or would have, in JavaScript. */
  javascript: string;
  /** The only one of the SDKs that has the method. */
  only?: "sync" | "async";
}

/** What a command of E2B's command line does on hookbox, as test/e2b/commands.json has it. */
export interface CommandRow {
  command: string;
  /** `unused`: the test does not run it, because it is not about hookbox. */
  result: MethodRow["result"] | "unused";
  note?: string;
}

const RESULTS = { works: "works", differs: "works, with a difference", refused: "refused", unused: "not run" };
/** The objects whose methods have a table of their own. */
const TEMPLATES = /^(Template|Volume|Secret|volume|secrets|snapshots|waitFor|ready|defaultBuildLogger)/;

/**
 * Returns the page of E2B's API with new tables.
 * @throws {Error} if the page has no place for the tables
 */
export function e2bPage(
  page: string,
  rows: readonly MethodRow[],
  python: readonly PythonRow[],
  commands: readonly CommandRow[],
): string {
  const lines = linesOf(rows, python);
  const of = (isTemplate: boolean) =>
    lines.filter(([name]) => TEMPLATES.test(name) === isTemplate).map(([, cells]) => cells);
  const end = ["result", "difference, or the sentence"];
  const head = ["JavaScript", "Python", ...end];
  const blocks = [
    ...["### Sandboxes", tableOf(head, of(false))],
    ...["### Templates, volumes, secrets and snapshots", tableOf(head, of(true))],
    ...[
      "### Command line",
      tableOf(
        ["command", ...end],
        commands.map(({ command, result, note = "" }) => [`\`e2b ${command}\``, RESULTS[result], note]),
      ),
    ],
  ];
  return withGenerated(page, "The tables are generated from test/e2b", "The end of the tables", blocks);
}

/** Returns the lines by the names of methods in JavaScript. Languages share a line if the result is the same. */
function linesOf(rows: readonly MethodRow[], python: readonly PythonRow[]): [name: string, cells: string[]][] {
  const line = ({ result, note = "" }: MethodRow, names: string[]) => [...names, RESULTS[result], note];
  const left = new Set(python);
  const lines = rows.map((row): [string, string[]] => {
    const same = python.find((one) =>
      one.javascript === row.method && one.result === row.result && one.note === row.note
    );
    if (same) left.delete(same);
    return [row.method, line(row, [`\`${row.method}\``, same ? nameOf(same) : ""])];
  });
  const others = [...left].map((row): [string, string[]] => [row.javascript, line(row, ["", nameOf(row)])]);
  return [...lines, ...others].sort(([one], [other]) => one === other ? 0 : one < other ? -1 : 1);
}

function nameOf({ method, only }: PythonRow): string {
  return only === undefined ? `\`${method}\`` : `\`${method}\` (${only})`;
}
