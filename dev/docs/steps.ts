/** Lists the steps of a page in their order: files to write or change, and commands to type. @module */
import { fencesOf } from "./fences.ts";

/** One fenced block of a page. */
export interface Step {
  /** The number of its first line of text, starting at 1. */
  line: number;
  /** What to do with the text: type the commands, write the file, or apply the change. */
  kind: "commands" | "file" | "change";
  /** The file's path; undefined: the text contains commands. */
  file: string | undefined;
  text: string;
  /** The marks of the block's commands, see {@link stepsOf}. */
  marks: string[];
}

const KINDS = { sh: "commands", yaml: "file", diff: "change" } as const;

/**
 * Lists the blocks that begin with ` ```sh `, ` ```yaml FILE ` or ` ```diff FILE `. Blocks with the mark `elsewhere`
 * are for other sorts of clusters, and are left out.
 *
 * @param known allowed marks of commands; a block can have several, separated by commas
 * @throws {SyntaxError} if a block has another mark, or a file has no name: otherwise a typing error would leave a step
 * out
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
 * Applies a change to a text. Lines that begin with `-` are removed, lines that begin with `+` are added, and lines
 * that begin with a space show where.
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
