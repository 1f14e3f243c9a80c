/** Replaces the text that was written before, on a terminal; otherwise appends. @module */
import { drawn, plain } from "./plain.ts";
import type { CommandContext } from "../commandcontext.ts";

/** Creates a function that writes a text in place of the previous one. Each text ends with a newline. */
export function createRedraw(
  { stdout, env, now }: Pick<CommandContext, "stdout" | "env" | "now">,
): (text: string) => void {
  const isInPlace = stdout.isTTY && env["TERM"] !== "dumb";
  let height = 0;
  return (text) => {
    if (!isInPlace) return stdout.write(`${now().toISOString()}\n${text}`);
    const lines = fitted(plain(text), stdout.columns, stdout.rows);
    const up = height > 0 ? `\x1b[${height}A` : "";
    height = lines.length;
    // Also clears the rest of longer old lines, and the lines below.
    stdout.write(drawn(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`));
  };
}

/**
 * Removes lines that would scroll out of view, and shortens lines that would wrap, because neither could be
 * overwritten.
 */
function fitted(text: string, columns = Infinity, rows = Infinity): string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const room = Math.max(2, rows - 1);
  const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… and ${lines.length - (room - 1)} more`];
  return shown.map((line) => [...line].slice(0, columns).join(""));
}
