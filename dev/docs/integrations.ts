/** Writes the tables of docs/integrations.md from the results of the tests of published clients. @module */
import { globSync, readFileSync } from "node:fs";
import { tableOf, withGenerated } from "./generated.ts";

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

/** Reads the results in a folder. */
export function rowsIn(folder: string): Row[] {
  return globSync("*.json", { cwd: folder }).sort().map((file) =>
    JSON.parse(readFileSync(`${folder}/${file}`, "utf8"))
  );
}

/**
 * Returns the page with new tables, one for each version of a client.
 * @throws {Error} if the page has no place for the tables
 */
export function integrationsPage(page: string, rows: readonly Row[]): string {
  const clients = Map.groupBy(rows, ({ client, version }) => `${client} ${version}`);
  const sections = [...clients].map(section);
  return withGenerated(page, "The tables are generated from test/consumers/matrix", "The end of the tables", sections);
}

/** Notes are numbered if they are not those of all rows. */
function section([client, rows]: [string, Row[]]): string {
  const notes = [...new Set(rows.map(notesOf))];
  const isOne = notes.length === 1;
  const texts = notes.filter((text) => text !== "");
  const cells = rows.map((row) => {
    const { way, runs, passed, checks } = row;
    const result = checks === undefined ? "not run" : `${passed} of ${checks}`;
    const number = texts.indexOf(notesOf(row)) + 1;
    return [way, result, `\`${runs}\``, ...isOne ? [] : [number === 0 ? "" : `${number}`]];
  });
  const head = ["way", "passed checks", "command", ...isOne ? [] : ["note"]];
  const list = isOne ? texts : texts.map((text, index) => `${index + 1}. ${text}`);
  return [`### ${client}`, tableOf(head, cells), ...list.length === 0 ? [] : [list.join("\n")]].join("\n\n");
}

function notesOf({ note, failed = {} }: Row): string {
  const names = Object.values(failed).flat().map((name) => `\`${name}\``);
  return [note, names.length === 0 ? undefined : `Failed: ${names.join(", ")}.`].filter((text) => text).join(" ");
}
