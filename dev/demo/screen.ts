/** What the demo prints: chapters, what a person would type, what came back, and how long it took. @module */
import process from "node:process";

const START = performance.now();
const IS_TERMINAL = process.stdout.isTTY && !process.env["NO_COLOR"];
const paint = (code: string, text: string) => IS_TERMINAL ? `\x1b[${code}m${text}\x1b[0m` : text;

/** Seconds since the demo began, as `12.3 s`. */
export function elapsed(since = START): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** A chapter's headline, and when it begins. */
export function chapter(title: string): void {
  line(`\n${paint("1", `── ${title} `)}${paint("2", `(at ${elapsed()})`)}`);
}

/** A command as a person would type it. */
export function typed(command: string): void {
  line(`${paint("36", "$")} ${command}`);
}

/** What came back, indented. */
export function output(text: string): void {
  for (const part of text.trimEnd().split("\n")) line(`  ${part}`);
}

/** One sentence between commands. */
export function note(text: string): void {
  line(`${paint("2", "#")} ${text}`);
}

/** A claim that was just seen to hold. */
export function held(text: string): void {
  line(`${paint("32", "✓")} ${text}`);
}

/** Claims that nothing has changed. @throws {Error} if something has */
export function same(what: string, before: string | undefined, after: string | undefined): void {
  if (before !== after) throw new Error(`Not the same as before: ${what} was ${before} and is ${after}`);
  held(`the same as before: ${what}`);
}

/** The step that went wrong; the demo ends after it. */
export function failed(text: string): void {
  line(`${paint("31", "✗")} ${text}`);
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}
