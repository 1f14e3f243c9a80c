/** Writes the table of methods in docs/e2b.md from the results of the test that uses them. @module */

/** What a method of E2B's SDKs does on hookbox. */
export interface MethodRow {
  method: string;
  result: "works" | "differs" | "refused";
  note?: string;
}

const BEGIN = "<!-- The table is generated from test/e2b/methods.json: npm run docs -->";
const END = "<!-- The end of the table -->";
const RESULTS = { works: "works", differs: "works, with a difference", refused: "refused" };

/**
 * Returns the page with a new table. @throws {Error} if the page has no place for the table
 */
export function e2bPage(page: string, rows: readonly MethodRow[]): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`Cannot find the place of the table: ${BEGIN}`);
  const cells = rows.map(({ method, result, note = "" }) => [`\`${method}\``, RESULTS[result], note]);
  const head = ["method", "result", "difference, or the sentence"];
  const table = [head, head.map(() => "---"), ...cells].map((line) => `| ${line.join(" | ")} |`);
  return [before, [BEGIN, table.join("\n"), END].join("\n\n"), after].join("");
}
