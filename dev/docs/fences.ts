/** The fenced blocks of a Markdown page. Pure. @module */

/** One block. */
export interface Fence {
  /** Of its first line of text, from 1. */
  line: number;
  /** Empty: the block says none. */
  language: string;
  /** The word behind the language; undefined: there is none. */
  mark: string | undefined;
  /** Without the block's own indentation. */
  text: string;
}

const FENCE = /^([ \t]*)```(\w*)(?:[ \t]+(\S+))?[ \t]*\n([\s\S]*?)^\1```[ \t]*$/gm;

/** Lists the blocks of some languages, in the order of the page. */
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
