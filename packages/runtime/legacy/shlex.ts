/** Splits a command line into arguments as Python's `shlex.split` does; expands nothing and runs nothing. @module */

/** A command line that ends within quotes or after a backslash; the messages are Python's. */
export class SplitError extends Error {
  override name = "SplitError";
}

const WHITESPACE = " \t\r\n";

/**
 * Splits `line`: quotes group, `\` escapes (within double quotes only `"` and itself, within single quotes nothing);
 * `#`, `$`, `|`, `*` and their like are ordinary characters.
 *
 * @throws {SplitError}
 */
export function splitCommand(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  const characters = [...line];
  for (let i = 0; i < characters.length; i++) {
    let character = characters[i] as string;
    if (quote === undefined && WHITESPACE.includes(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word ??= "";
    if (character === quote) quote = undefined;
    else if (quote === undefined && (character === "'" || character === '"')) quote = character;
    else {
      if (character === "\\" && quote !== "'") {
        const next: string | undefined = characters[++i];
        if (next === undefined) throw new SplitError("No escaped character");
        character = quote !== undefined && next !== quote && next !== "\\" ? `\\${next}` : next;
      }
      word += character;
    }
  }
  if (quote !== undefined) throw new SplitError("No closing quotation");
  if (word !== undefined) words.push(word);
  return words;
}
