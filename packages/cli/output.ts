/** Formats what commands print: JSON and YAML for `-o`, and tables as kubectl does. @module */
import { withBigInts } from "../api/objects/json.ts";
import { UsageError } from "./failure.ts";
import { oneLine } from "./terminal.ts";

/** Values of `-o`; absent means a table. */
const FORMATS = ["json", "yaml", "name", "wide"] as const;
export type Format = (typeof FORMATS)[number];

/** Parses `-o`. @param others values that the caller parses itself @throws {UsageError} if it is not one of `allowed` */
export function formatOf(
  text: string | undefined,
  allowed: readonly Format[] = FORMATS,
  ...others: string[]
): Format | undefined {
  if (text === undefined) return undefined;
  const format = allowed.find((format) => format === text);
  if (format) return format;
  throw new UsageError(`Cannot print as "${text}": -o takes ${[...allowed, ...others].join(", ")}`);
}

/** Formats a value as JSON or YAML, as kubectl does. */
export async function serialize(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, null, 4)}\n`;
  const { stringify } = await import("yaml");
  return stringify(withBigInts(value), { lineWidth: 0, version: "1.1" });
}

const GAP = 3;

/**
 * Formats a table; each line ends with a newline. `widths` are minimum widths. The last column is never padded.
 *
 * @param paint colours a cell of a row; it must not change the width
 */
export function renderTable(
  headers: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
  widths: readonly number[] = [],
  paint: (text: string, row: number, column: number) => string = (text) => text,
): string {
  const lines = (headers ? [headers, ...rows] : rows).map((cells) => cells.map(oneLine));
  const wide = widthsOf(lines, widths);
  const first = headers ? 1 : 0;
  return lines.map((cells, line) => {
    const shown = cells.map((cell, i) => {
      const gap = i === cells.length - 1 ? "" : " ".repeat(Math.max(0, (wide[i] ?? 0) - widthOf(cell)) + GAP);
      return (line < first ? cell : paint(cell, line - first, i)) + gap;
    });
    return `${shown.join("")}\n`;
  }).join("");
}

/** Returns the width of each column, without the gap. */
export function widthsOf(lines: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const columns = Math.max(0, ...lines.map((cells) => cells.length));
  return Array.from(
    { length: columns },
    (_, i) => Math.max(least[i] ?? 0, ...lines.map((cells) => widthOf(cells[i] ?? ""))),
  );
}

function widthOf(cell: string): number {
  return [...cell].length;
}
