/** Formats what commands print: JSON and YAML for `-o`, and tables as kubectl does. @module */
import { withBigInts } from "../api/objects/json.ts";
import { UsageError } from "./failure.ts";
import { oneLine } from "./terminal.ts";

/** Values of `-o`; absent means a table. */
const FORMATS = ["json", "yaml", "name", "wide"] as const;
export type Format = (typeof FORMATS)[number];

/** Parses `-o`. @throws {UsageError} if it is not one of `allowed` */
export function formatOf(text: string | undefined, allowed: readonly Format[] = FORMATS): Format | undefined {
  if (text === undefined) return undefined;
  const format = allowed.find((format) => format === text);
  if (format) return format;
  throw new UsageError(`Cannot print as "${text}": -o takes ${allowed.join(", ")}`);
}

/** Formats a value as JSON or YAML, as kubectl does. */
export async function serialize(value: unknown, format: "json" | "yaml"): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, null, 4)}\n`;
  const { stringify } = await import("yaml");
  return stringify(withBigInts(value), { lineWidth: 0, version: "1.1" });
}

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
