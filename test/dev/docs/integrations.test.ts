/** The tables of docs/integrations.md: one for each version of a client, with notes and failed checks below it. @module */
import { expect, test } from "vitest";
import { integrationsPage, type Row } from "../../../dev/docs/integrations.ts";

const BEGIN = "<!-- The tables are generated from test/consumers/matrix: npm run docs -->";
const PAGE = `before\n\n${BEGIN}\nold\n<!-- The end of the tables -->\n\nafter\n`;
const ROW: Row = { client: "c", version: "1.0", way: "w", runs: "npm test", passed: 3, checks: 3 };

const HEAD = "| way | passed checks | command |\n| --- | --- | --- |\n";
const NOTE_HEAD = "| way | passed checks | command | note |\n| --- | --- | --- | --- |\n";

test.for([
  { name: "all passed", rows: [ROW], want: `### c 1.0\n\n${HEAD}| w | 3 of 3 | \`npm test\` |` },
  {
    name: "two versions",
    rows: [ROW, { ...ROW, version: "2.0" }],
    want: `### c 1.0\n\n${HEAD}| w | 3 of 3 | \`npm test\` |\n\n### c 2.0\n\n${HEAD}| w | 3 of 3 | \`npm test\` |`,
  },
  {
    name: "not run",
    rows: [{ client: "c", version: "1.0", way: "w", runs: "npm test", note: "Needs Go." }],
    want: `### c 1.0\n\n${HEAD}| w | not run | \`npm test\` |\n\nNeeds Go.`,
  },
  {
    name: "checks failed in one of two ways",
    rows: [{ ...ROW, note: "Slow.", passed: 1, failed: { "401": ["read", "write"] } }, { ...ROW, way: "v" }],
    want: `### c 1.0\n\n${NOTE_HEAD}| w | 1 of 3 | \`npm test\` | 1 |\n| v | 3 of 3 | \`npm test\` |  |\n\n` +
      "1. Slow. Failed: `read`, `write`.",
  },
  {
    name: "the same note for two of three ways",
    rows: [{ ...ROW, note: "A." }, { ...ROW, way: "v", note: "B." }, { ...ROW, way: "u", note: "A." }],
    want: `${NOTE_HEAD}| w | 3 of 3 | \`npm test\` | 1 |\n| v | 3 of 3 | \`npm test\` | 2 |\n` +
      "| u | 3 of 3 | `npm test` | 1 |\n\n1. A.\n2. B.",
  },
])("integrationsPage(): $name", ({ rows, want }) => {
  const page = integrationsPage(PAGE, rows);
  expect(page).toMatch(/^before\n\n<!-- The tables [^]* -->\n\nafter\n$/);
  expect(page).not.toContain("old");
  expect(page).toContain(want);
  expect(integrationsPage(page, rows)).toBe(page);
});

test("integrationsPage() refuses a page without a place for the tables", () => {
  expect(() => integrationsPage("before", [ROW])).toThrow("Cannot find the place of the tables");
});
