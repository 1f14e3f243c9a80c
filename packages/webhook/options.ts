/** The command line of hooks: each names its own options, and a process has those of its server and of the hooks it runs. @module */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

/** One option of a command line, which becomes a setting. */
export interface Option<T> {
  /** Without the dashes: `max-batch-size`. */
  flag: string;
  /** What stands for its value in the help: `N`. */
  placeholder: string;
  /** As it would be typed. */
  default: string;
  /** What the help says of it. */
  help: string;
  /** Makes the setting. @throws {RangeError} if the text makes no sense */
  read(text: string): T;
}

/** The option of each setting. */
export type Options<Settings> = { readonly [Key in keyof Settings]: Option<Settings[Key]> };

type Description = Omit<Option<unknown>, "read">;

/** An option whose setting is the text itself. */
export function textOption(description: Description): Option<string> {
  return { ...description, read: (text) => text };
}

interface NumberDescription extends Description {
  /** @default 0 */
  least?: number;
  /** Cuts off what stands behind the point. @default false */
  isWhole?: boolean;
}

/** An option whose setting is a number. */
export function numberOption({ least = 0, isWhole = false, ...description }: NumberDescription): Option<number> {
  return {
    ...description,
    read(text) {
      const value = Number(text);
      if (text.trim() !== "" && Number.isFinite(value) && value >= least) return isWhole ? Math.floor(value) : value;
      throw new RangeError(`Cannot use --${description.flag} "${text}": it is not a number of at least ${least}`);
    },
  };
}

/** What a command line says. */
export interface CommandLine<Settings> {
  settings: Settings;
  positionals: string[];
  /** Whether it asks for help. */
  help: boolean;
}

/**
 * Reads a command line.
 *
 * @param ignored flags that are taken, with their values, and come to nothing
 * @throws {TypeError | RangeError} if an option is unknown or makes no sense
 */
export function readOptions<Settings>(
  args: string[],
  options: Options<Settings>,
  ignored: readonly string[] = [],
): CommandLine<Settings> {
  const entries = Object.entries(options) as [string, Option<unknown>][];
  const known = entries.map(([, option]) => [option.flag, { type: "string", default: option.default }] as const);
  const { values, positionals } = parsed(args, {
    ...Object.fromEntries(ignored.map((flag) => [flag, { type: "string" }] as const)),
    ...Object.fromEntries(known),
    help: { type: "boolean", default: false },
  });
  const said: Record<string, unknown> = values;
  const settings = entries.map(([key, { flag, read }]) => [key, read(String(said[flag]))]);
  return { settings: Object.fromEntries(settings), positionals, help: said["help"] === true };
}

function parsed(args: string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw error;
    throw new RangeError(`Unknown option "${/'(-[^']*)'/.exec(message)?.[1] ?? ""}": see --help`, { cause: error });
  }
}

const WIDTH = 116;
const COLUMN = 33;

/** Writes what the help says of options, one or more lines each. */
export function optionsHelp(options: Options<unknown> | Options<object>): string {
  return (Object.values(options) as Option<unknown>[]).map(({ flag, placeholder, help, default: preset }) => {
    const text = preset === "" ? help : `${help} (default ${preset})`;
    const name = `  --${flag} ${placeholder} `;
    return name.padEnd(COLUMN) + wrapped(text, WIDTH - COLUMN).join(`\n${" ".repeat(COLUMN)}`);
  }).join("\n");
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
