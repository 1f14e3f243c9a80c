/** Finds phrases in the prose of one file. @module */
import { PHRASES } from "./phrases.ts";
import { proseIn } from "./text.ts";

/** A phrase at a place in a file. */
export interface Finding {
  file: string;
  /** The line, starting at 1. */
  line: number;
  /** The column, starting at 1. */
  column: number;
  /** The phrase as the file has it, in one line. */
  found: string;
  /** What to write instead. */
  instead: string;
}

/** Between two words: also a line break in a comment, or in a string that is put together of several. */
const GAP = String.raw`[\s*/#"'+>]+`;
/** A path, an option or a name in code has other neighbours than a word has. */
const PATTERNS = PHRASES.map(({ find: { source, flags }, instead }) => ({
  pattern: new RegExp(`(?<![\\w/.$-])(?:${source.replaceAll(" ", GAP)})(?![\\w/-])`, `${flags}g`),
  instead,
}));

/** Lists the phrases in a file, in the order of {@link PHRASES}. A file without any is not parsed. */
export function findingsIn(file: string, text: string): Finding[] {
  let isProse: ((offset: number) => boolean) | undefined;
  return PATTERNS.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].flatMap(({ index, 0: match }) => {
      isProse ??= proseIn(file, text);
      if (!isProse(index)) return [];
      const lines = text.slice(0, index).split("\n");
      const found = match.replaceAll(/[\s"'+]*\n[\s*/#"'+>]*/g, " ").trim();
      return { file, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, found, instead };
    })
  );
}
