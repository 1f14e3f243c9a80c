/** Generated parts of pages that are written by hand. @module */

/**
 * Replaces what stands between two comments.
 * @throws {Error} if the page has not both
 */
export function withGenerated(page: string, source: string, end: string, blocks: readonly string[]): string {
  const [first, last] = [`<!-- ${source}: npm run docs -->`, `<!-- ${end} -->`];
  const [before, rest] = page.split(first);
  const after = rest?.split(last)[1];
  if (before === undefined || after === undefined) throw new Error(`Cannot find the place of the tables: ${first}`);
  return [before, [first, ...blocks, last].join("\n\n"), after].join("");
}

/** Returns a table of Markdown, whose columns are not aligned. */
export function tableOf(head: readonly string[], cells: readonly string[][]): string {
  return [head, head.map(() => "---"), ...cells].map((line) => `| ${line.join(" | ")} |`).join("\n");
}
