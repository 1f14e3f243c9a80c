/** Finds the fenced code blocks of a Markdown page. @module */

/** One fenced block. */
export interface Fence {
  /** The number of its first line of text, starting at 1. */
  line: number;
  /** Empty: the block names no language. */
  language: string;
  /** The word after the language; undefined: there is none. */
  mark: string | undefined;
  /** The text without the block's own indentation. */
  text: string;
}

const FENCE = /^([ \t]*)```(\w*)(?:[ \t]+(\S+))?[ \t]*\n([\s\S]*?)^\1```[ \t]*$/gm;

/** Lists the blocks in certain languages, in the order of the page. */
export function fencesOf(markdown: string, ...languages: string[]): Fence[] {
  return [...markdown.matchAll(FENCE)].map(
    ({ index, 0: block, 1: indent = "", 2: language = "", 3: mark, 4: body = "" }) => ({
      line: markdown.slice(0, index + block.indexOf("\n")).split("\n").length + 1,
      language,
      mark,
      text: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  ).filter(({ language }) => languages.includes(language));
}
