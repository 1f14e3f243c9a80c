/** Passes a script to a shell if it is too long for an argument of execve(2). @module */
import { Buffer } from "node:buffer";
import { SpawnError } from "./command.ts";

/** Longest argument or variable in bytes, without its NUL: MAX_ARG_STRLEN of Linux, 32 pages. */
const LONGEST_WORD = 131_071;

/** How a command is started. */
export interface Passed {
  argv: string[];
  /** The script that the shell reads from the descriptor; undefined: the script is in `argv`. */
  script: string | undefined;
}

const SHELL = /(^|\/)(sh|ash|bash|dash|ksh|mksh|zsh)$/;
/** `-c`, `-lc`, `-exc`: the next argument is the script. */
const SCRIPT_FOLLOWS = /^-[A-Za-z]*c[A-Za-z]*$/;

/**
 * Makes a shell read its script from descriptor `fd` if the script is too long for an argument. `sh -c` with a megabyte then
 * works as any other, with the same `$0`, arguments, standard input and exit code.
 *
 * @throws {SpawnError} if another argument, or a variable, is too long
 */
export function passLong(argv: string[], env: Record<string, string | undefined>, fd: number): Passed {
  for (const [name, value = ""] of Object.entries(env)) {
    const bytes = Buffer.byteLength(name) + 1 + Buffer.byteLength(value);
    if (bytes > LONGEST_WORD) throw tooLong(`Cannot set variable ${JSON.stringify(name)}`, bytes);
  }
  const [file = "", ...words] = argv;
  const at = SHELL.test(file) ? words.findIndex((word) => SCRIPT_FOLLOWS.test(word)) + 1 : 0;
  const script = at > 0 ? words[at] : undefined;
  const isLong = script !== undefined && Buffer.byteLength(script) > LONGEST_WORD;
  const passed = isLong ? words.with(at, loader(fd)) : words;
  for (const word of passed) {
    const bytes = Buffer.byteLength(word);
    if (bytes > LONGEST_WORD) throw tooLong(`Cannot run ${JSON.stringify(file)}`, bytes);
  }
  return { argv: [file, ...passed], script: isLong ? script : undefined };
}

/** The code that loads the script. It closes the descriptor and unsets its variable before the script runs. */
function loader(fd: number): string {
  return `HOOKBOX_SCRIPT=$(cat <&${fd}); eval "exec ${fd}<&-; unset HOOKBOX_SCRIPT; $HOOKBOX_SCRIPT"`;
}

function tooLong(action: string, bytes: number): SpawnError {
  const limit = `an argument or value has ${bytes} bytes, but the system allows ${LONGEST_WORD}`;
  return new SpawnError("invalid", `${action}: ${limit}. Write it to a file.`);
}
