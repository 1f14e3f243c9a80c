/**
 * Defines the options of a process in one table. It is used to parse the command line and to generate `--help` and
 * docs/reference/flags.md.
 * @module
 */
import { parseArgs } from "node:util";
import { type FlagType, SWITCH } from "./flagtypes.ts";

/** The description of an option. */
export interface FlagDescription {
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
export interface CommandLine<Table extends Flags> {
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
