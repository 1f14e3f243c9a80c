/** Finds out which names a command line needs for its completion. @module */
import type { Command } from "commander";
import { findKind, type Kind, KINDS, POOL, TEMPLATE } from "../../summary/kinds.ts";
import type { Where } from "../commandcontext.ts";

/** Names to look for; `prefix` is the part that was already typed. */
export interface Need {
  what: "sandboxes" | "namespaces" | "contexts" | "kinds" | { kinds: Kind[] };
  prefix: string;
  /** Appended to each name, such as `:` before a path. */
  suffix: string;
  where: Where;
}

type Names = Need["what"];

const OPTIONS: Record<string, Names> = {
  namespace: "namespaces",
  context: "contexts",
  pool: { kinds: [POOL] },
  template: { kinds: [TEMPLATE] },
};
/** Kinds of the arguments of each command; the last kind applies to all further arguments. */
const ARGUMENTS: Record<string, Names[]> = {
  cp: ["sandboxes"],
  exec: ["sandboxes"],
  logs: ["sandboxes"],
  ls: ["sandboxes"],
  open: ["sandboxes"],
  resume: ["sandboxes"],
  rm: ["sandboxes"],
  status: [{ kinds: [POOL] }],
  simulate: [{ kinds: [POOL] }],
  suspend: ["sandboxes"],
  top: ["sandboxes"],
  url: ["sandboxes"],
  why: [{ kinds: KINDS.filter((kind) => kind !== TEMPLATE) }],
};
/** Commands whose first argument is a sandbox, and no other argument. */
const ONE_ARGUMENT = ["exec", "logs", "ls", "open", "url", "why", "status", "simulate"];

/**
 * Returns which names to look for; undefined if the cluster does not have them.
 *
 * @param words the last one may be empty
 */
export function needOf(program: Command, words: readonly string[]): Need | undefined {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  if (before.includes("--")) return undefined;
  const { command, args, options } = read(program, before);
  const { namespace, context, kubeconfig } = options as Where;
  const where = { namespace, context, kubeconfig };
  const option = valueOption(command, before.at(-1), last);
  if (option) {
    const what = OPTIONS[option.name];
    return what && { what, prefix: option.prefix, suffix: "", where };
  }
  if (last.startsWith("-") || command === program) return undefined;
  const what = argumentOf(command.name(), args);
  return what && { what, prefix: last, suffix: command.name() === "cp" || command.name() === "ls" ? ":" : "", where };
}

function argumentOf(name: string, args: readonly string[]): Names | undefined {
  if (name === "get") {
    const [first] = args;
    if (first === undefined) return "kinds";
    const kind = findKind(first);
    return kind && { kinds: [kind] };
  }
  if (ONE_ARGUMENT.includes(name) && args.length > 0) return undefined;
  const names = ARGUMENTS[name] ?? [];
  return names[Math.min(args.length, names.length - 1)];
}

/** Handles `--pool <here>` and `--pool=<here>`. */
function valueOption(command: Command, previous: string | undefined, last: string) {
  const [flag = "", value] = last.startsWith("--") && last.includes("=") ? splitOnce(last) : [previous ?? "", last];
  const option = optionOf(command, flag);
  return option?.required ? { name: option.attributeName(), prefix: value ?? "" } : undefined;
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function optionOf(command: Command, flag: string) {
  return command.options.find(({ short, long }) => flag !== "" && (flag === short || flag === long));
}

/** Finds the command in the words, its arguments, and the values of its options. */
function read(program: Command, words: readonly string[]) {
  let command = program;
  const args: string[] = [];
  const options: Record<string, string> = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [flag, value] = word.startsWith("--") && word.includes("=") ? splitOnce(word) : [word, undefined];
    const option = optionOf(command, flag);
    if (option?.required) options[option.attributeName()] = value ?? words[++i] ?? "";
    if (word.startsWith("-")) continue;
    const inner = args.length === 0 && command.commands.find((one) => one.name() === word);
    if (inner) command = inner;
    else args.push(word);
  }
  return { command, args, options };
}
