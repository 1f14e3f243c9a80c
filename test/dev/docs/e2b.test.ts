/** The tables of docs/e2b.md: a line for the same method in both languages, unless the results differ. @module */
import { expect, test } from "vitest";
import { e2bPage, type MethodRow, type PythonRow } from "../../../dev/docs/e2b.ts";

const PAGE =
  "before\n\n<!-- The tables are generated from test/e2b: npm run docs -->\nold\n<!-- The end of the tables -->\n";
const rows: MethodRow[] = [
  { method: "Volume.list", result: "refused", note: "No." },
  { method: "files.makeDir", result: "works" },
  { method: "sandbox.pause", result: "differs", note: "Files." },
];
const python: PythonRow[] = [
  { method: "Volume.list", javascript: "Volume.list", result: "refused", note: "No." },
  { method: "files.make_dir", javascript: "files.makeDir", result: "works" },
  { method: "input.send", javascript: "input.send", result: "works", only: "async" },
  { method: "sandbox.pause", javascript: "sandbox.pause", result: "works" },
];

test("e2bPage() has a line for the same method, two if the results differ, and the commands", () => {
  const page = e2bPage(PAGE, rows, python, [
    { command: "auth login", result: "unused", note: "Elsewhere." },
    { command: "sandbox list", result: "works" },
  ]);
  const lines = page.split("\n").filter((line) => line.startsWith("| `") || line.startsWith("|  |"));
  expect(lines).toEqual([
    "| `files.makeDir` | `files.make_dir` | works |  |",
    "|  | `input.send` (async) | works |  |",
    "| `sandbox.pause` |  | works, with a difference | Files. |",
    "|  | `sandbox.pause` | works |  |",
    "| `Volume.list` | `Volume.list` | refused | No. |",
    "| `e2b auth login` | not run | Elsewhere. |",
    "| `e2b sandbox list` | works |  |",
  ]);
  expect(page).not.toContain("old");
});
