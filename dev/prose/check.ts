/** Finds phrases in the prose of one file: in pages, and in the comments, strings and JSX texts of programs. @module */
import { parseSync, Visitor } from "rolldown/utils";
import { PHRASES } from "./phrases.ts";

/** A phrase at a place in a file. */
interface Finding {
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

/** A part of a text: the offsets of its first character and of the character after its last one. */
type Span = readonly [start: number, end: number];

const CODE_IN_LINE = /`[^`\n]*`/g;

/** Fenced blocks, code in a line, and targets of links. */
const CODE_IN_PAGE = /^([ \t]*(?:```|~~~)).*\n[^]*?^\1[ \t]*$|(`+)[^]*?\2|\]\([^)]*\)/gm;

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

/**
 * Creates the function that says whether the character at an offset belongs to prose. In a program, prose is what
 * comments, strings and JSX texts contain; elsewhere it is the whole file. Code between backticks is not prose.
 */
function proseIn(file: string, text: string): (offset: number) => boolean {
  const isWithin = (spans: readonly Span[]) => (offset: number) =>
    spans.some(([start, end]) => start <= offset && offset < end);
  if (/\.(?:[jt]sx?|mjs)$/.test(file)) return isWithin(spansOf(file, text));
  const isCode = isWithin(matchesOf(file.endsWith(".md") ? CODE_IN_PAGE : CODE_IN_LINE, text, 0));
  return (offset) => !isCode(offset);
}

function spansOf(file: string, text: string): Span[] {
  const { program, comments } = parseSync(file, text);
  const spans: Span[] = [];
  const add = ({ start, end }: { start: number; end: number }) => {
    let from = start;
    for (const [codeStart, codeEnd] of matchesOf(CODE_IN_LINE, text.slice(start, end), start)) {
      spans.push([from, codeStart]);
      from = codeEnd;
    }
    spans.push([from, end]);
  };
  comments.forEach(add);
  new Visitor({
    // A string of one word is a name or a path.
    Literal: (node) => typeof node.value === "string" && /\s/.test(node.value) && add(node),
    // Its first and last backticks enclose no code.
    TemplateElement: ({ start, end }) => spans.push([start, end]),
    JSXText: add,
  }).visit(program);
  return spans;
}

function matchesOf(pattern: RegExp, text: string, offset: number): Span[] {
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => [offset + index, offset + index + found.length]);
}
