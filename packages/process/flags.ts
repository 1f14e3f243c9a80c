/**
 * Defines the options of a process in one table. It is used to parse the command line and to generate `--help` and
 * docs/reference/flags.md.
 * @module
 */
import { parseArgs } from "node:util";
import { LONGEST_TIMER_MS } from "./clock.ts";

/** The description of an option. */
interface FlagDescription {
  /** Starts in lower case and has no full stop. For a switch that is on by default: what happens if it is off. */
  help: string;
  /** The first release that has the option. */
  since: string;
  /** Placeholder for the value in the help, instead of the type's. */
  placeholder?: string;
  /** If there is no default: what happens without a value. */
  otherwise?: string;
  /** Environment variable that provides the value if the command line does not. */
  env?: string;
  /** Other names of the option. */
  aliases?: readonly string[];
  /** Options that must be used together with this one. */
  needs?: readonly string[];
  /** Its section in the help. @default "Options" */
  section?: string;
}

/** An option whose value has type T. */
export interface Flag<T = unknown> extends FlagDescription {
  type: FlagType<T>;
  /** The default as it would be typed; absent: the default value is undefined. */
  default?: string;
}

/** A table of options by name, in the order of the help. */
export type Flags = Readonly<Record<string, Flag>>;

/** An option of earlier releases. A command line that still uses it fails with an explanation. */
interface GoneFlag {
  /** The first release that lacks the option. */
  since: string;
  /** What replaces it, or why it was removed: `the binder replaces …`. */
  why: string;
}

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The values of options by name in camel case: the key of `--wake-timeout` is `wakeTimeout`. */
export type Values<Table extends Flags> = {
  [Name in keyof Table & string as CamelCase<Name>]: Table[Name] extends Flag<infer T> ? T : never;
};

/** A process and its command line. */
export interface Program<Table extends Flags = Flags> {
  /** The command that starts it: `hookbox keeper`. */
  name: string;
  /** What it does: whole sentences, with line breaks. */
  about: string;
  /** Placeholder for its arguments that are not options: `[hook…]`; absent: it accepts none. */
  operands?: string;
  flags: Table;
  /** Options that were removed, by name. */
  gone?: Readonly<Record<string, GoneFlag>>;
  /** Text at the end of the help. */
  notes?: string;
}

/** Creates an option. Without a default, its value may be undefined. */
export function flag<T>(type: FlagType<T>, description: FlagDescription & { default: string }): Flag<T>;
export function flag<T>(type: FlagType<T>, description: FlagDescription): Flag<T | undefined>;
export function flag<T>(type: FlagType<T>, description: FlagDescription & { default?: string }): Flag<T | undefined> {
  return { ...description, type };
}

/** Puts options into a section of the help. */
export function section<Table extends Flags>(heading: string, flags: Table): Table {
  return Object.fromEntries(
    Object.entries(flags).map(([name, each]) => [name, { ...each, section: heading }]),
  ) as Table;
}

/** Returns the value of an environment variable; undefined: it is not set. */
export type Environment = (variable: string) => string | undefined;

/** A parsed command line. */
interface CommandLine<Table extends Flags> {
  values: Values<Table>;
  operands: string[];
}

/**
 * Parses a command line; undefined: it asks for help.
 *
 * @param env reads the environment variables of options
 * @throws {RangeError} if an option is unknown or a value is not allowed; the message is one sentence that names both
 */
export function readCommandLine<Table extends Flags>(
  { flags, gone, operands: takesOperands }: Pick<Program<Table>, "flags" | "gone" | "operands">,
  args: string[],
  env: Environment = () => undefined,
): CommandLine<Table> | undefined {
  const given = textsOf(args, flags, gone);
  if (!given) return undefined;
  const [stray] = given.operands;
  if (stray !== undefined && takesOperands === undefined) {
    throw new RangeError(`Unknown argument "${stray}": see --help`);
  }
  const values = Object.entries(flags).map(([name, { type, needs = [], ...each }]) => {
    const text = given.texts.get(name);
    const ofVariable = text === undefined && each.env !== undefined ? env(each.env)?.replace(/\n+$/, "") : undefined;
    const said = text ?? ofVariable ?? each.default;
    const source = ofVariable === undefined ? `--${name}` : `${each.env}`;
    const value = said === undefined ? undefined : readValue(source, type, said);
    const missing = text !== undefined && value ? needs.find((needed) => !given.texts.get(needed)) : undefined;
    if (missing !== undefined) throw new RangeError(`Cannot use --${name} without --${missing}`);
    return [camelCase(name), value];
  });
  return { values: Object.fromEntries(values), operands: given.operands };
}

/** Returns the values of an empty command line. */
export function defaultsOf<Table extends Flags>(flags: Table): Values<Table> {
  return (readCommandLine({ flags }, []) as CommandLine<Table>).values;
}

/** Parses one value. @param name as the user knows the option: `--port` @throws {RangeError} if the text is not allowed */
export function readValue<T>(name: string, type: FlagType<T>, text: string): T {
  return type.read(text, () => {
    throw new RangeError(refusalOf(name, type, text));
  });
}

/** Returns the error message for a value that is not allowed. */
export function refusalOf(name: string, { allowed, isSecret }: FlagType<unknown>, text: string): string {
  return `Cannot use ${isSecret ? name : `${name} "${text}"`}: use ${allowed}`;
}

/** Returns the text of each option, the last one if it is used twice; undefined: the command line asks for help. */
function textsOf(
  args: string[],
  flags: Flags,
  gone: Program["gone"] = {},
): { texts: Map<string, string>; operands: string[] } | undefined {
  const names = new Map(
    Object.entries(flags).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((each) => [each, name] as const)
    ),
  );
  const takesValue = [...names].filter(([, name]) => flags[name]?.type !== SWITCH);
  const options = Object.fromEntries(takesValue.map(([name]) => [name, { type: "string" }] as const));
  // Not strict: the messages of parseArgs would describe its own options, and it does not support `--x=false`.
  const { tokens, positionals } = parseArgs({ args, options, strict: false, tokens: true });
  const texts = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { rawName, value, inlineValue } = token;
    if (rawName === "--help" || rawName === "-h") return undefined;
    const isNegated = !names.has(token.name) && token.name.startsWith("no-");
    const typed = isNegated ? token.name.slice("no-".length) : token.name;
    const name = names.get(typed);
    const type = name === undefined ? undefined : flags[name]?.type;
    if (name === undefined || !type || (isNegated && type !== SWITCH)) {
      const was = Object.hasOwn(gone, typed) ? gone[typed] : undefined;
      if (was) throw new RangeError(`Cannot use ${rawName}: it is gone since ${was.since}, ${was.why}`);
      throw new RangeError(`Unknown option "${rawName}": see --help`);
    }
    if (isNegated && value !== undefined) throw new RangeError(`Cannot use ${rawName} "${value}": it takes no value`);
    const isMissing = type !== SWITCH && (value === undefined || (!inlineValue && /^-\D/.test(value)));
    if (isMissing) throw new RangeError(`Cannot use ${rawName} without a value: use ${type.allowed}`);
    texts.set(name, value ?? String(!isNegated));
  }
  return { texts, operands: positionals };
}

function camelCase(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** A type of values. */
export interface FlagType<T> {
  /** Name in docs/reference/flags.md: `whole number from 1 to 1000`. */
  name: string;
  /** Placeholder for a value in the help: `N`; empty: the option has no value. */
  placeholder: string;
  /** What is allowed, as error messages name it after "use": `a whole number from 1 to 1000`. */
  allowed: string;
  /** A value may contain a password, so error messages do not repeat it. */
  isSecret?: true;
  /** Parses a value. @param refuse throws the error for a text that is not allowed */
  read(text: string, refuse: () => never): T;
}

/** Any text. */
export const TEXT: FlagType<string> = {
  ...{ name: "text", placeholder: "TEXT", allowed: "any text" },
  read: (text) => text,
};

/** On or off: `--x`, `--no-x`, and as with Go's flags `--x=false`. */
export const SWITCH: FlagType<boolean> = {
  ...{ name: "switch", placeholder: "", allowed: "true or false" },
  read: (text, refuse) => text === "true" || (text === "false" ? false : refuse()),
};

/** Words separated by commas or line breaks: a key of a ConfigMap may have several lines. */
export const LIST: FlagType<string[]> = {
  ...{ name: "list", placeholder: "A,B", allowed: "words with commas between them" },
  read: (text) => text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean),
};

/** A duration in milliseconds, at most what a timer supports: a longer timer would fire at once. */
export const DURATION: FlagType<number> = {
  ...{ name: "duration", placeholder: "D", allowed: "a duration such as 200ms, 30s, 1m30s, or seconds" },
  read(text, refuse) {
    const ms = parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
    return ms === undefined ? refuse() : Math.min(ms, LONGEST_TIMER_MS);
  },
};

const FACTORS: Record<string, number> = { "": 1, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/** A duration of at least so many milliseconds. */
export function durationFrom(least: number): FlagType<number> {
  return {
    ...{ ...DURATION, allowed: `${DURATION.allowed}, at least ${least}ms` },
    read: (text, refuse) => {
      const ms = DURATION.read(text, refuse);
      return ms < least ? refuse() : ms;
    },
  };
}

/** A number of bytes above 0. */
export const SIZE: FlagType<number> = {
  ...{ name: "size", placeholder: "N", allowed: "a size such as 65536, 64Ki or 1Gi" },
  read(text, refuse) {
    const [, number = "0", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
    return Number(number) > 0 ? Number(number) * (FACTORS[unit] ?? 1) : refuse();
  },
};

/** A port to listen on; 0 chooses a free one. */
export const PORT: FlagType<number> = { ...wholeNumber(0, 65_535), name: "port", placeholder: "P" };

/** A port to listen on, or the word `off`, which is read as undefined. */
export const OPTIONAL_PORT: FlagType<number | undefined> = {
  ...{ name: "port or off", placeholder: "P", allowed: `${PORT.allowed}, or off` },
  read: (text, refuse) => text === "off" ? undefined : PORT.read(text, refuse),
};

/** A base URL of HTTP, without trailing slashes; undefined for an empty text. */
export const HTTP_URL: FlagType<string | undefined> = {
  ...{ name: "URL", placeholder: "URL", allowed: "an http or https URL such as http://collector:4318" },
  read(text, refuse) {
    if (text === "") return undefined;
    const isHTTP = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
    return isHTTP ? text.replace(/\/+$/, "") : refuse();
  },
};

/** A whole number. */
export function wholeNumber(least = 0, most = Number.MAX_SAFE_INTEGER): FlagType<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return {
    ...{ name: `whole number ${range}`, placeholder: "N", allowed: `a whole number ${range}` },
    read(text, refuse) {
      const value = Number(text);
      return text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most ? value : refuse();
    },
  };
}

/** A number, with or without a fraction. */
export function number(least = 0): FlagType<number> {
  return {
    ...{ name: `number of at least ${least}`, placeholder: "N", allowed: `a number of at least ${least}` },
    read(text, refuse) {
      const value = Number(text);
      return text.trim() !== "" && Number.isFinite(value) && value >= least ? value : refuse();
    },
  };
}

/** One of several words. */
export function choice<const T extends string>(choices: readonly T[], placeholder = "X"): FlagType<T> {
  return {
    ...{ name: oneOf(choices), placeholder, allowed: oneOf(choices) },
    read: (text, refuse) => choices.find((choice) => choice === text) ?? refuse(),
  };
}

/** Lists words for a sentence: `debug, info, warn or error`. */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const WHOLE = /^(\d+(\.\d+)?(ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/** Returns the milliseconds of `1m30s`, `200ms`, `0.5h` or `0`; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!WHOLE.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS[unit ?? ""] ?? 0), 0);
}
