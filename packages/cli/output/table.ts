/** Formats tables as kubectl does: upper-case headers, no borders, three spaces between columns. @module */
import { oneLine } from "../terminal/plain.ts";

const GAP = 3;

/** Formats a table; each line ends with a newline. `widths` are minimum widths. The last column is never padded. */
export function renderTable(
  headers: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
  widths: readonly number[] = [],
): string {
  const lines = (headers ? [headers, ...rows] : rows).map((cells) => cells.map(oneLine));
  const wide = widthsOf(lines, widths);
  return lines.map((cells) =>
    `${cells.map((cell, i) => padded(cell, wide[i] ?? 0, i === cells.length - 1)).join("")}\n`
  )
    .join("");
}

/** Returns the width of each column, without the gap. */
export function widthsOf(lines: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const columns = Math.max(0, ...lines.map((cells) => cells.length));
  return Array.from(
    { length: columns },
    (_, i) => Math.max(least[i] ?? 0, ...lines.map((cells) => widthOf(cells[i] ?? ""))),
  );
}

function padded(cell: string, width: number, isLast: boolean): string {
  return isLast ? cell : cell + " ".repeat(Math.max(0, width - widthOf(cell)) + GAP);
}

function widthOf(cell: string): number {
  return [...cell].length;
}
