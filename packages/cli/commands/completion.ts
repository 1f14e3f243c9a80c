/** `hookbox completion`: prints a script for a shell, and completes command lines for it. @module */
import tab from "@bomb.sh/tab/commander";
import { Argument, type Command } from "commander";
import { findKind, KINDS, POOL, TEMPLATE } from "../../summary/kinds.ts";
import type { NameSource } from "../cluster.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { buildProgram } from "../program.ts";

const MORE = `
Also completes names of sandboxes, pools, templates, namespaces and contexts.

Examples:
  source <(hookbox completion bash)      in ~/.bashrc
  source <(hookbox completion zsh)       in ~/.zshrc
  hookbox completion fish | source       in ~/.config/fish/config.fish

For "kubectl hookbox", create a link to hookbox named kubectl_complete-hookbox in a folder of PATH.`;

/** Defines the command that prints a script. */
export function defineCompletion(command: Command, context: CommandContext): void {
  command
    .addArgument(new Argument("<shell>", "name of the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText("after", MORE)
    .action(async (shell: string) => {
      const { script } = await import("@bomb.sh/tab");
      if (shell === "bash") context.stdout.write(BASH_WORDS);
      script(shell, "hookbox", "hookbox");
    });
}

/**
 * The one function of the package bash-completion that the script calls, for systems without that package. Bash splits
 * words at "=" and ":"; the function joins them again.
 */
const BASH_WORDS = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        local i word glue=0 joined=()
        for ((i = 0; i < \${#COMP_WORDS[@]}; i++)); do
            word=\${COMP_WORDS[i]}
            if ((i > 0)) && { ((glue)) || [[ $word == [=:]* ]]; }; then
                joined[\${#joined[@]}-1]+=$word
            else
                joined+=("$word")
            fi
            if [[ $word == *[=:] ]]; then glue=1; else glue=0; fi
            if ((i == COMP_CWORD)); then cword=$((\${#joined[@]} - 1)); fi
        done
        words=("\${joined[@]}")
        cur=\${words[cword]}
        prev=\${words[cword > 0 ? cword - 1 : 0]}
    }
fi
`;

/** Defines the command that such a script calls when the user presses Tab. */
export function defineComplete(command: Command, context: CommandContext): void {
  command
    .argument("[words...]")
    .allowUnknownOption()
    .action(async (words: string[]) => await complete(context, words));
}

/** Directives to the shell: do not complete file names; add no space after the name. */
const NO_FILES = 4;
const NO_SPACE = 2;

/** Prints one candidate per line, then the directive for the shell. @param words the last one may be empty */
async function complete(context: CommandContext, words: string[]): Promise<void> {
  const program = await buildProgram(context, words, false);
  const needed = namesNeeded(program, words);
  if (!needed) return tab(program, { completionCommandName: "completion" }).parse([...words]);
  // Imported only here: completion of commands and options must not load the client of the API server.
  const { readNames } = await import("../cluster.ts");
  const { prefix, suffix, what } = needed;
  const names = (await readNames(context, needed)).map((name) => name + suffix).filter((name) =>
    name.startsWith(prefix)
  );
  // For cp, paths on this machine are candidates, too.
  const isPath = suffix !== "" && what === "sandboxes" && words[0] === "cp";
  const directive = (isPath ? 0 : NO_FILES) + (suffix === "" ? 0 : NO_SPACE);
  context.stdout.write(`${names.map((name) => `${name}\t\n`).join("")}:${directive}\n`);
}

/** Names that complete a command line. */
export interface NamesNeeded {
  what: NameSource;
  /** The part that was already typed. */
  prefix: string;
  /** Appended to each name, such as `:` before a path. */
  suffix: string;
  where: ConnectionOptions;
}

const OPTION_NAMES: Record<string, NameSource> = {
  namespace: "namespaces",
  context: "contexts",
  pool: { kinds: [POOL] },
  template: { kinds: [TEMPLATE] },
};
/** Kinds of the arguments of each command; the last kind applies to all further arguments. */
const ARGUMENT_NAMES: Record<string, NameSource[]> = {
  cp: ["sandboxes"],
  describe: [{ kinds: [...KINDS] }],
  events: ["sandboxes"],
  extend: ["sandboxes"],
  exec: ["sandboxes"],
  logs: ["sandboxes"],
  ls: ["sandboxes"],
  open: ["sandboxes"],
  resume: ["sandboxes"],
  rm: ["sandboxes"],
  ssh: ["sandboxes"],
  status: [{ kinds: [POOL] }],
  simulate: [{ kinds: [POOL] }],
  suspend: ["sandboxes"],
  top: ["sandboxes"],
  url: ["sandboxes"],
  wait: ["sandboxes"],
  why: [{ kinds: KINDS.filter((kind) => kind !== TEMPLATE) }],
};
/** Commands whose first argument is a sandbox, and no other argument. */
const ONE_ARGUMENT = [
  "describe",
  "events",
  "exec",
  "extend",
  "ssh",
  "logs",
  "ls",
  "open",
  "url",
  "why",
  "status",
  "simulate",
];

/**
 * Returns which names to look for; undefined if the cluster does not have them.
 *
 * @param words the last one may be empty
 */
export function namesNeeded(program: Command, words: readonly string[]): NamesNeeded | undefined {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  if (before.includes("--")) return undefined;
  const { command, args, options } = readWords(program, before);
  const { namespace, context, kubeconfig } = options as ConnectionOptions;
  const where = { namespace, context, kubeconfig };
  const option = valueOption(command, before.at(-1), last);
  if (option) {
    const what = OPTION_NAMES[option.name];
    return what && { what, prefix: option.prefix, suffix: "", where };
  }
  if (last.startsWith("-") || command === program) return undefined;
  const what = argumentOf(command.name(), args);
  return what && { what, prefix: last, suffix: command.name() === "cp" || command.name() === "ls" ? ":" : "", where };
}

function argumentOf(name: string, args: readonly string[]): NameSource | undefined {
  if (name === "get") {
    const [first] = args;
    if (first === undefined) return "kinds";
    const kind = findKind(first);
    return kind && { kinds: [kind] };
  }
  if (ONE_ARGUMENT.includes(name) && args.length > 0) return undefined;
  const names = ARGUMENT_NAMES[name] ?? [];
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
function readWords(program: Command, words: readonly string[]) {
  let command = program;
  const args: string[] = [];
  const options: Record<string, string> = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [flag, value] = word.startsWith("--") && word.includes("=") ? splitOnce(word) : [word, undefined];
    const option = optionOf(command, flag);
    if (option?.required) options[option.attributeName()] = value ?? words[++i] ?? "";
    if (word.startsWith("-")) continue;
    const inner = args.length === 0 &&
      command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (inner) command = inner;
    else args.push(word);
  }
  return { command, args, options };
}
