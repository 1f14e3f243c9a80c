/** Colours, on terminals that want them. Pure. @module */
import type { CommandContext, Output } from "../commandcontext.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** Colours a text, or leaves it as it is. */
export type Paint = (style: keyof typeof CODES, text: string) => string;

/**
 * Tells whether an output shows colours: on a terminal, unless NO_COLOR is set (https://no-color.org) or it is dumb.
 */
export function hasColor(output: Output, { env }: Pick<CommandContext, "env">): boolean {
  return output.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** Makes the brush for an output. */
export function createPaint(output: Output, context: Pick<CommandContext, "env">): Paint {
  const isOn = hasColor(output, context);
  return (style, text) => isOn ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}
