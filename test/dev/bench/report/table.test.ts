/** @module */
import { expect, test } from "vitest";
import { formatFigure, table } from "../../../../dev/bench/report/table.ts";

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
  expect(formatFigure(value)).toBe(want);
});

test("table() keeps a cell one cell, whatever it holds", () => {
  expect(table([{ a: "x|y\nz" }], [{ head: "a_b", cell: ({ a }) => a, isText: true }]).split("\n")).toEqual([
    "| a\\_b   |",
    "| ------ |",
    "| x\\|y z |",
    "",
  ]);
});
