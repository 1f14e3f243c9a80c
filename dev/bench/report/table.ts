/** Formats tables, figures and text in Markdown, as `deno fmt` does. @module */

export interface Column<Item> {
  head: string;
  cell: (item: Item) => string;
  /** Whether the column contains words, which are aligned left. Figures are aligned right. */
  isText?: boolean;
}

/** Formats a table with one row for each item. Each row ends with a newline. */
export function table<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  const texts = columns.map(({ head, cell }) => [head, ...items.map(cell)].map(escapeMarkdown));
  const set = texts.map((column, index) => {
    const words = columns[index]?.isText ?? false;
    const width = Math.max(words ? 1 : 2, ...column.map((text) => text.length));
    const pad = (text: string) => words ? text.padEnd(width) : text.padStart(width);
    const rule = words ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
    const [head = "", ...cells] = column.map(pad);
    return [head, rule, ...cells];
  });
  const rows = Array.from({ length: items.length + 2 }, (_, row) => set.map((column) => column[row]));
  return rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Formats a figure with about three digits: `1,234`, `98.7`, `4.56`; a dash for undefined. */
export function formatFigure(value: number | undefined): string {
  if (value === undefined) return "–";
  const size = Math.abs(value);
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toLocaleString("en-GB", {
    maximumFractionDigits: digits,
    minimumFractionDigits: value === 0 ? 0 : digits,
  });
}

/** Escapes what Markdown or HTML would interpret, and puts the text on one line. */
export function escapeMarkdown(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_<>[\]|~]/g, "\\$&");
}
