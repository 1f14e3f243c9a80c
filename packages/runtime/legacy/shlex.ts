/** Splits a command line into arguments as Python's `shlex.split` does. @module */

/** The command line ends inside quotes or after a backslash. The messages are Python's. */
export class SplitError extends Error {
  override name = "SplitError";
}

const WHITESPACE = " \t\r\n";

/**
 * Splits `line`. Quotes group words, and `\` escapes the next character: in double quotes only `"` and `\`, in single
 * quotes nothing. `#`, `$`, `|`, `*` and similar characters have no special meaning.
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
