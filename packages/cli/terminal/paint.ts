/** Colours text on terminals that support it. @module */
import type { CommandContext, Output } from "../commandcontext.ts";

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

/** Creates the function for an output. */
export function createPaint(output: Output, context: Pick<CommandContext, "env">): Paint {
  const isOn = hasColor(output, context);
  return (style, text) => isOn ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}
