/** Writes the table of docs/integrations.md from the results of the tests of published clients. @module */
import { globSync, readFileSync } from "node:fs";

/** A result, as a file in test/consumers/matrix has it. */
export interface Row {
  client: string;
  version: string;
  way: string;
  /** The command that runs the tests. */
  runs: string;
  /** What a user must know, or why the client was not run. */
  note?: string;
  /** How many checks passed, and how many there are. Both are absent if the client was not run. */
  passed?: number;
  checks?: number;
  /** The checks that failed, by what came instead. */
  failed?: Record<string, string[]>;
}

const BEGIN = "<!-- The table is generated from test/consumers/matrix: npm run docs -->";
const END = "<!-- The end of the table -->";

/** Reads the results in a folder. */
export function rowsIn(folder: string): Row[] {
  return globSync("*.json", { cwd: folder }).sort().map((file) =>
    JSON.parse(readFileSync(`${folder}/${file}`, "utf8"))
  );
}

/**
 * Returns the page with a new table.
 * @throws {Error} if the page has no place for the table
 */
export function integrationsPage(page: string, rows: readonly Row[]): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`Cannot find the place of the table: ${BEGIN}`);
  const head = [
    "| client | version | way | passed checks | command | notes |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  return [before, BEGIN, "\n\n", [...head, ...rows.map(line)].join("\n"), "\n\n", END, after].join("");
}

function line({ client, version, way, runs, note, passed, checks, failed = {} }: Row): string {
  const result = checks === undefined ? "not run" : `${passed} of ${checks}`;
  const names = Object.values(failed).flat().map((name) => `\`${name}\``);
  const notes = [note, names.length === 0 ? undefined : `Failed: ${names.join(", ")}.`].filter((text) => text);
  return `| ${[client, version, way, result, `\`${runs}\``, notes.join(" ")].join(" | ")} |`;
}
