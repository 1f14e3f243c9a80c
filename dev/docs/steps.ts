/** What a how-to has its reader do: files to write and commands to type, in their order. Pure. @module */
import { fencesOf } from "./fences.ts";

/** One fenced block of a how-to. */
export interface Step {
  /** Of its first line of text, from 1. */
  line: number;
  /** The file that the text goes into; undefined: the text is commands for a shell. */
  file: string | undefined;
  text: string;
}

/**
 * Lists the blocks that open with ` ```sh ` or with ` ```yaml FILE `; those with the mark `elsewhere` are for clusters
 * of another kind, and left out.
 *
 * @throws {SyntaxError} if a block has another mark, or YAML has no name: a slip would leave a step out
 */
export function stepsOf(page: string, markdown: string): Step[] {
  return fencesOf(markdown, "sh", "yaml").filter(({ mark }) => mark !== "elsewhere").map(
    ({ line, language, mark, text }) => {
      const isKnown = language === "sh" ? mark === undefined : mark?.endsWith(".yaml");
      if (!isKnown) throw new SyntaxError(`Cannot take the step in ${page}:${line}: its mark is "${mark ?? ""}"`);
      return { line, file: mark, text };
    },
  );
}
