/**
 * The options of a process, each described once: a table, which its command line is read by, and which `--help` and
 * docs/reference/flags.md are written from.
 * @module
 */
import { parseArgs } from "node:util";
import { type FlagType, SWITCH } from "./flagtypes.ts";

/** What is said about an option. */
export interface FlagDescription {
  /** Begins in lower case, without a full stop. Of a switch that is on by default: what happens if it is off. */
  help: string;
  /** The first release with the option. */
  since: string;
  /** Stands for the value in the help, in place of the type's. */
  placeholder?: string;
  /** If there is no default: what happens without a value. */
  otherwise?: string;
  /** Variable of the environment that has the value if the command line does not. */
  env?: string;
  /** Other names of the option. */
  aliases?: readonly string[];
  /** Options that have to be given with this one. */
  needs?: readonly string[];
  /** Its heading in the help. @default "Options" */
  section?: string;
}

/** One option, whose value is a T. */
export interface Flag<T = unknown> extends FlagDescription {
  type: FlagType<T>;
  /** As it would be typed; absent: the value is undefined. */
  default?: string;
}

/** A table of options: by their names, in the order of the help. */
export type Flags = Readonly<Record<string, Flag>>;

/** An option that was released and is no longer taken: who still uses it is told so. */
export interface GoneFlag {
  /** The first release without it. */
  since: string;
  /** What comes in its place, or why nothing does: `the binder replaces …`. */
  why: string;
}

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The values of options: the key of `--wake-timeout` is `wakeTimeout`. */
export type Values<Table extends Flags> = {
  [Name in keyof Table & string as CamelCase<Name>]: Table[Name] extends Flag<infer T> ? T : never;
};

/** A process, for those who start it. */
export interface Program<Table extends Flags = Flags> {
  /** What starts it: `hookbox keeper`. */
  name: string;
  /** What it does: whole sentences, in lines. */
  about: string;
  /** Names its arguments that are not options: `[hook…]`; absent: it takes none. */
  operands?: string;
  flags: Table;
  /** Options that it took once, by their names. */
  gone?: Readonly<Record<string, GoneFlag>>;
  /** What the help says at its end. */
  notes?: string;
}

/** Describes an option. Without a default its value may be undefined. */
export function flag<T>(type: FlagType<T>, description: FlagDescription & { default: string }): Flag<T>;
export function flag<T>(type: FlagType<T>, description: FlagDescription): Flag<T | undefined>;
export function flag<T>(type: FlagType<T>, description: FlagDescription & { default?: string }): Flag<T | undefined> {
  return { ...description, type };
}

/** Puts options under a heading of the help. */
export function section<Table extends Flags>(heading: string, flags: Table): Table {
  return Object.fromEntries(
    Object.entries(flags).map(([name, each]) => [name, { ...each, section: heading }]),
  ) as Table;
}

/** Returns the value of a variable of the environment; undefined: it is not set. */
export type Environment = (variable: string) => string | undefined;

/** What a command line says. */
export interface CommandLine<Table extends Flags> {
  values: Values<Table>;
  operands: string[];
}

/**
 * Reads a command line; undefined: it asks for help.
 *
 * @param env for options that a variable of the environment can set
 * @throws {RangeError} if an option is unknown, or a value is not allowed: one sentence that names both
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

/** Returns what the values are if nothing is given. */
export function defaultsOf<Table extends Flags>(flags: Table): Values<Table> {
  return (readCommandLine({ flags }, []) as CommandLine<Table>).values;
}

/** Reads one value. @param name as the user knows the option: `--port` @throws {RangeError} if the text is not allowed */
export function readValue<T>(name: string, type: FlagType<T>, text: string): T {
  return type.read(text, () => {
    throw new RangeError(refusalOf(name, type, text));
  });
}

/** Says that a value is not allowed, and what is. */
export function refusalOf(name: string, { allowed, isSecret }: FlagType<unknown>, text: string): string {
  return `Cannot use ${isSecret ? name : `${name} "${text}"`}: use ${allowed}`;
}

/** What is written for each option, the last one if it is given twice; undefined: help is asked for. */
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
  // Not strict: the messages of parseArgs speak of its own options, and it knows no `--x=false`.
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
