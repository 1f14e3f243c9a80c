/** The table of docs/integrations.md: one line for each result, and what failed is named. @module */
import { expect, test } from "vitest";
import { integrationsPage, type Row } from "../../../dev/docs/integrations.ts";

const PAGE = "before\n\n<!-- The table is generated from test/consumers/matrix: npm run docs -->\nold\n" +
  "<!-- The end of the table -->\n\nafter\n";
const ROW: Row = { client: "c", version: "1.0", way: "w", runs: "npm test" };

test.for([
  { name: "all passed", row: { ...ROW, passed: 3, checks: 3 }, want: "| c | 1.0 | w | 3 of 3 | `npm test` |  |" },
  {
    name: "checks failed",
    row: { ...ROW, note: "Slow.", passed: 1, checks: 3, failed: { "401": ["read", "write"] } },
    want: "| c | 1.0 | w | 1 of 3 | `npm test` | Slow. Failed: `read`, `write`. |",
  },
  {
    name: "not run",
    row: { ...ROW, note: "Needs Go." },
    want: "| c | 1.0 | w | not run | `npm test` | Needs Go. |",
  },
])("integrationsPage(): $name", ({ row, want }) => {
  const page = integrationsPage(PAGE, [row]);
  expect(page).toMatch(/^before\n[^]*\n\nafter\n$/);
  expect(page).toContain(want);
  expect(page).not.toContain("old");
  expect(integrationsPage(page, [row])).toBe(page);
});

test("integrationsPage() refuses a page without a place for the table", () => {
  expect(() => integrationsPage("before", [ROW])).toThrow("Cannot find the place of the table");
});
