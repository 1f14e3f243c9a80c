/** Shows progress on standard error: a spinner on a terminal, or a line every ten seconds in a log. @module */
import { oneLine } from "./plain.ts";
import type { CommandContext, Output } from "../commandcontext.ts";

/** The text of a spinner. A function is called each time the text is written, because the text may contain a duration. */
export type SpinnerText = string | (() => string);

/** Progress of some work. */
export interface Spinner {
  say(text: SpinnerText): void;
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
    say: (text) => {
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
  return { say: (text) => void (now = text), stop: () => clearInterval(timer) };
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
