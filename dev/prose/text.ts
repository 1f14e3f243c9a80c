/** Says which parts of a file a person reads as prose. @module */
import { parseSync, Visitor } from "rolldown/utils";

/** A part of a text: the offsets of its first character and of the character after its last one. */
type Span = readonly [start: number, end: number];

const CODE_IN_LINE = /`[^`\n]*`/g;
/** Fenced blocks, code in a line, and targets of links. */
const CODE_IN_PAGE = /^([ \t]*(?:```|~~~)).*\n[^]*?^\1[ \t]*$|(`+)[^]*?\2|\]\([^)]*\)/gm;

/**
 * Creates the function that says whether the character at an offset belongs to prose. In a program, prose is what
 * comments, strings and JSX texts contain; elsewhere it is the whole file. Code between backticks is not prose.
 */
export function proseIn(file: string, text: string): (offset: number) => boolean {
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
