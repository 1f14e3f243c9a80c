/** Tables, figures and foreign text in Markdown, set as `deno fmt` sets them. Pure. @module */

export interface Column<Item> {
  head: string;
  cell: (item: Item) => string;
  /** Whether the column holds words, set to the left; figures are set to the right. */
  words?: boolean;
}

/** Sets a table, one row per item, with a line end after each. */
export function table<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  const texts = columns.map(({ head, cell }) => [head, ...items.map(cell)].map(escapeMarkdown));
  const set = texts.map((column, index) => {
    const words = columns[index]?.words ?? false;
    const width = Math.max(words ? 1 : 2, ...column.map((text) => text.length));
    const pad = (text: string) => words ? text.padEnd(width) : text.padStart(width);
    const rule = words ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
    const [head = "", ...cells] = column.map(pad);
    return [head, rule, ...cells];
  });
  const rows = Array.from({ length: items.length + 2 }, (_, row) => set.map((column) => column[row]));
  return rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Writes a figure to about three digits, `1,234`, `98.7`, `4.56`; a dash for none. */
export function figure(value: number | undefined): string {
  if (value === undefined) return "–";
  const size = Math.abs(value);
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toLocaleString("en-GB", {
    maximumFractionDigits: digits,
    minimumFractionDigits: value === 0 ? 0 : digits,
  });
}

/** Takes the meaning out of what Markdown or HTML would read as its own, on one line. */
export function escapeMarkdown(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_<>[\]|~]/g, "\\$&");
}
