/** @module */
import { expect, test } from "vitest";
import { escapeMarkdown, figure, table } from "../../../bench/report/table.ts";

test.for([
  { value: undefined, want: "–" },
  { value: 0, want: "0" },
  { value: 0.123, want: "0.12" },
  { value: 9.994, want: "9.99" },
  { value: 9.996, want: "10.0" },
  { value: 99.94, want: "99.9" },
  { value: 99.96, want: "100" },
  { value: 1234.5, want: "1,235" },
  { value: -12.34, want: "-12.3" },
])("figure($value) is $want", ({ value, want }) => {
  expect(figure(value)).toBe(want);
});

test("table() sets words to the left and figures to the right, each column as wide as its widest", () => {
  const text = table([{ a: "one", b: "1" }, { a: "three", b: "12345" }], [
    { head: "name", cell: ({ a }) => a, words: true },
    { head: "n", cell: ({ b }) => b },
  ]);
  expect(text).toBe(
    [
      "| name  |     n |",
      "| ----- | ----: |",
      "| one   |     1 |",
      "| three | 12345 |",
      "",
    ].join("\n"),
  );
});

test("table() has no column too narrow for its rule", () => {
  const columns = [{ head: "a", cell: String, words: true }, { head: "b", cell: String }];
  expect(table([1], columns)).toBe("| a |  b |\n| - | -: |\n| 1 |  1 |\n");
});

test("table() keeps a cell one cell, whatever it holds", () => {
  expect(table([{ a: "x|y\nz" }], [{ head: "a_b", cell: ({ a }) => a, words: true }]).split("\n")).toEqual([
    "| a\\_b   |",
    "| ------ |",
    "| x\\|y z |",
    "",
  ]);
});

test("escapeMarkdown() takes the meaning out of every mark that has one within a line", () => {
  expect(escapeMarkdown("a_b *c* <b> `d` [e] f|g ~~h~~ \\i\n j")).toBe(
    "a\\_b \\*c\\* \\<b\\> \\`d\\` \\[e\\] f\\|g \\~\\~h\\~\\~ \\\\i j",
  );
});
