/** What a page has its reader do: files to write or to change, and commands to type, in their order. Pure. @module */
import { fencesOf } from "./fences.ts";

/** One fenced block of a page. */
export interface Step {
  /** Of its first line of text, from 1. */
  line: number;
  /** What is done with the text: commands are typed, a file is written, a change is made to one. */
  kind: "commands" | "file" | "change";
  /** The file's path; undefined: the text is commands. */
  file: string | undefined;
  text: string;
  /** What the block says of its commands, see {@link stepsOf}. */
  marks: string[];
}

const KINDS = { sh: "commands", yaml: "file", diff: "change" } as const;

/**
 * Lists the blocks that open with ` ```sh `, ` ```yaml FILE ` or ` ```diff FILE `; those with the mark `elsewhere` are
 * for clusters of another kind, and left out.
 *
 * @param known words that commands may be marked with, one or more with commas between
 * @throws {SyntaxError} if a block has another mark, or a file no name: a slip would leave a step out
 */
export function stepsOf(page: string, markdown: string, known: readonly string[] = []): Step[] {
  return fencesOf(markdown, ...Object.keys(KINDS)).filter(({ mark }) => mark !== "elsewhere").map(
    ({ line, language, mark, text }) => {
      const kind = KINDS[language as keyof typeof KINDS];
      const marks = kind === "commands" ? mark?.split(",") ?? [] : [];
      const isKnown = kind === "commands"
        ? marks.every((one) => known.includes(one))
        : kind === "file"
        ? mark?.endsWith(".yaml")
        : mark !== undefined;
      if (!isKnown) throw new SyntaxError(`Cannot take the step in ${page}:${line}: its mark is "${mark ?? ""}"`);
      return { line, kind, file: kind === "commands" ? undefined : mark, text, marks };
    },
  );
}

/**
 * Makes a change to a text: lines that begin with `-` go, lines that begin with `+` come, those that begin with a space
 * say where.
 *
 * @throws {RangeError} if there is no such place, or more than one
 */
export function changed(text: string, change: string): string {
  const without = (sign: string) =>
    change.split("\n").filter((line) => !line.startsWith(sign)).map((line) => line.slice(1)).join("\n");
  const parts = text.split(without("+"));
  if (parts.length !== 2) throw new RangeError(`Cannot make the change: there are ${parts.length - 1} places for it`);
  return parts.join(without("-"));
}
