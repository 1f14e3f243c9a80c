/** Generates the `--help` text of a process from the table of its options. @module */
import type { Flag, Program } from "./flags.ts";

/** Line width, and the column where descriptions begin. */
const WIDTH = 118;
const COLUMN = 34;

/** Returns the help text of a process. */
export function helpOf({ name, about, operands, flags, notes }: Program): string {
  const usage = [name, operands, "[options]"].filter(Boolean).join(" ");
  const sections = Map.groupBy(Object.entries(flags), ([, { section = "Options" }]) => section);
  const help: [string, string] = ["--help", "this text"];
  const home = sections.has("Options") ? "Options" : [...sections.keys()].at(-1);
  const parts = [...sections].map(([heading, entries]) => {
    const lines = entries.map(([flag, each]): [string, string] => [termOf(flag, each), describe(each)]);
    return `${heading}:\n${[...lines, ...heading === home ? [help] : []].map(entry).join("\n")}`;
  });
  return [`Usage: ${usage}`, about, ...parts, ...notes === undefined ? [] : [notes]].join("\n\n") + "\n";
}

/** Returns how an option is typed so that it has an effect: `--port P`, or `--no-wake` for a switch that is on by default. */
export function termOf(name: string, { type, default: preset, placeholder = type.placeholder }: Flag): string {
  if (placeholder !== "") return `--${name} ${placeholder}`;
  return preset === "true" ? `--no-${name}` : `--${name}`;
}

/** Returns the description, followed by the default, the options that it needs, and its other names. */
export function describe(flag: Flag): string {
  const unset = unsetOf(flag);
  if (unset === "") return flag.help + extrasOf(flag);
  const isPlain = flag.env === undefined && flag.otherwise === undefined;
  return `${flag.help} (default${isPlain ? "" : ":"} ${unset})${extrasOf(flag)}`;
}

/**
 * Returns what happens without a value: the environment variable is used, then `otherwise` or the default. Empty if there is
 * none of them; the default of a switch does not count.
 */
export function unsetOf({ type, otherwise, env, default: preset = "" }: Flag): string {
  const unset = otherwise ?? (type.placeholder === "" ? "" : preset);
  return [env && `the variable ${env}`, unset].filter(Boolean).join(", or ");
}

/** Returns the required options and other names, to be appended to a description; empty: none. */
export function extrasOf({ needs, aliases }: Flag): string {
  const list = (names: readonly string[], last: string) => names.map((name) => `--${name}`).join(last);
  return (needs ? `; needs ${list(needs, " and ")}` : "") + (aliases ? `; also ${list(aliases, ", ")}` : "");
}

function entry([term, text]: [string, string]): string {
  const lines = wrapped(text, WIDTH - COLUMN);
  const margin = `\n${" ".repeat(COLUMN)}`;
  const start = `  ${term} `;
  return (start.length > COLUMN ? `  ${term}${margin}` : start.padEnd(COLUMN)) + lines.join(margin);
}

function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
