/** Prints the demo: chapters, commands, their output, and how long they took. @module */
import process from "node:process";

const START = performance.now();
const IS_TERMINAL = process.stdout.isTTY && !process.env["NO_COLOR"];
const paint = (code: string, text: string) => IS_TERMINAL ? `\x1b[${code}m${text}\x1b[0m` : text;

/** Returns the seconds since the demo began, as `12.3 s`. */
export function elapsed(since = START): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** Prints a chapter's title, and when it begins. */
export function chapter(title: string): void {
  line(`\n${paint("1", `── ${title} `)}${paint("2", `(at ${elapsed()})`)}`);
}

/** Prints a command as a person would type it. */
export function typed(command: string): void {
  line(`${paint("36", "$")} ${command}`);
}

/** Prints the output of a command, indented. */
export function output(text: string): void {
  for (const part of text.trimEnd().split("\n")) line(`  ${part}`);
}

/** Prints a sentence between commands. */
export function note(text: string): void {
  line(`${paint("2", "#")} ${text}`);
}

/** Prints a statement that was just checked. */
export function held(text: string): void {
  line(`${paint("32", "✓")} ${text}`);
}

/** Checks that nothing has changed, and prints so. @throws {Error} if something has */
export function same(what: string, before: string | undefined, after: string | undefined): void {
  if (before !== after) throw new Error(`Not the same as before: ${what} was ${before} and is ${after}`);
  held(`the same as before: ${what}`);
}

/** Prints the step that failed. The demo ends after it. */
export function failed(text: string): void {
  line(`${paint("31", "✗")} ${text}`);
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}
