/** Writes to terminals: escapes control characters, colours text, shows progress. @module */
import { exactly } from "../api/objects/json.ts";
import type { CommandContext, Output } from "./commandcontext.ts";

// deno-lint-ignore no-control-regex -- it matches what must be escaped
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Escapes control characters other than newline and tab, and characters that change the direction of text, as in JSON.
 * In a JSON string, the escaped text has the same meaning.
 */
export function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROL_CHARACTERS, escaped);
}

/** As {@link plain}, but also escapes newlines and tabs, for text within a line. */
export function oneLine(text: string): string {
  return plain(text).replace(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns the same value with all its strings escaped by {@link plain}. */
export function plainly<T>(value: T): T {
  const part = (key: string, part: unknown, context?: { source?: string }) =>
    typeof part === "string" ? plain(part) : exactly(key, part, context ?? {});
  return JSON.parse(JSON.stringify(value), part) as T;
}

/** Encodes text whose control characters are our own, so that they are not escaped. */
export function drawn(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/**
 * Returns a context that escapes all text that it writes. Bytes are not escaped: they come from programs or
 * {@link drawn}.
 */
export function withPlainText(context: CommandContext): CommandContext {
  const { stdout, stderr } = context;
  return Object.create(context, { stdout: { value: plainOutput(stdout) }, stderr: { value: plainOutput(stderr) } });
}

function plainOutput(output: Output): Output {
  const write: Output["write"] = (data) => output.write(typeof data === "string" ? plain(data) : data);
  return Object.create(output, { write: { value: write } });
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** Colours a text, or returns it unchanged. */
export type Paint = (style: keyof typeof CODES, text: string) => string;

/**
 * Returns whether an output shows colours: if it is a terminal, is not dumb, and NO_COLOR (https://no-color.org) is not
 * set.
 */
export function hasColor(output: Output, { env }: Pick<CommandContext, "env">): boolean {
  return output.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** Creates the function that colours text for an output. */
export function createPaint(output: Output, context: Pick<CommandContext, "env">): Paint {
  const isOn = hasColor(output, context);
  return (style, text) => isOn ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/**
 * The text of a spinner. A function is called each time the text is written, because the text may contain a duration.
 */
type SpinnerText = string | (() => string);

/** Progress of some work. */
interface Spinner {
  setText(text: SpinnerText): void;
  /** Removes the spinner. */
  stop(): void;
}

/** Time between lines in a log, in milliseconds. Work that takes less time writes none. */
const LOG_MS = 10_000;
/** How often the text on a terminal is updated, in milliseconds. */
const TERMINAL_MS = 1000;

const textOf = (text: SpinnerText) => typeof text === "string" ? text : text();

/** Starts the spinner. */
export async function startSpinner({ stderr, env }: CommandContext, text: string): Promise<Spinner> {
  if (!stderr.isTTY || !stderr.stream || env["TERM"] === "dumb") return startLines(stderr, text);
  const { default: yoctoSpinner } = await import("yocto-spinner");
  const spinner = yoctoSpinner({ text: oneLine(text), stream: stderr.stream, handleSignals: false }).start();
  let now: SpinnerText = text;
  const show = () => void (spinner.text = oneLine(textOf(now)));
  const timer = setInterval(show, TERMINAL_MS);
  return {
    setText: (text) => {
      now = text;
      show();
    },
    stop: () => {
      clearInterval(timer);
      spinner.stop();
    },
  };
}

/** Writes the current text, if it has changed. */
function startLines(stderr: Output, text: string): Spinner {
  let now: SpinnerText = text;
  let written: SpinnerText | undefined;
  const timer = setInterval(() => {
    if (now !== written) stderr.write(`${textOf(now)}\n`);
    written = now;
  }, LOG_MS);
  return { setText: (text) => void (now = text), stop: () => clearInterval(timer) };
}

/** Runs work with a spinner, which is removed afterwards, also after an error. */
export async function spinning<T>(
  context: CommandContext,
  text: string,
  work: (spinner: Spinner) => Promise<T>,
): Promise<T> {
  const spinner = await startSpinner(context, text);
  try {
    return await work(spinner);
  } finally {
    spinner.stop();
  }
}
