/** Progress for people: a line on standard error that turns, on a terminal; nothing anywhere else. @module */
import type { CommandContext } from "../commandcontext.ts";

/** What is going on. */
export interface Spinner {
  say(text: string): void;
  /** Takes the line away. */
  stop(): void;
}

const SILENT: Spinner = { say: () => {}, stop: () => {} };

/** Starts it. */
export async function startSpinner({ stderr, env }: CommandContext, text: string): Promise<Spinner> {
  if (!stderr.isTTY || !stderr.stream || env["TERM"] === "dumb") return SILENT;
  const { default: yoctoSpinner } = await import("yocto-spinner");
  const spinner = yoctoSpinner({ text, stream: stderr.stream, handleSignals: false }).start();
  return {
    say: (text) => void (spinner.text = text),
    stop: () => void spinner.stop(),
  };
}

/** Runs work under a spinner, which goes whatever becomes of the work. */
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
