/** Passes on what is too long for a word of execve(2); it must not read what it passes on. @module */
import { Buffer } from "node:buffer";
import { SpawnError } from "./command.ts";

/** Longest word or variable in bytes, without its NUL: MAX_ARG_STRLEN of Linux, 32 pages. */
const LONGEST_WORD = 131_071;

/** How a command is started. */
export interface Passed {
  argv: string[];
  /** What its shell reads from the descriptor; undefined: there is nothing to read. */
  script: string | undefined;
}

const SHELL = /(^|\/)(sh|ash|bash|dash|ksh|mksh|zsh)$/;
/** `-c`, `-lc`, `-exc`: what follows is the script. */
const SCRIPT_FOLLOWS = /^-[A-Za-z]*c[A-Za-z]*$/;

/**
 * Has a shell read a script from descriptor `fd` if it is too long for a word: `sh -c` of a megabyte works as any other,
 * with the same `$0`, arguments, input and end.
 *
 * @throws {SpawnError} if another word, or a variable, is too long
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

/** The descriptor is closed, and the variable gone, before the script runs. */
function loader(fd: number): string {
  return `HOOKBOX_SCRIPT=$(cat <&${fd}); eval "exec ${fd}<&-; unset HOOKBOX_SCRIPT; $HOOKBOX_SCRIPT"`;
}

function tooLong(action: string, bytes: number): SpawnError {
  const limit = `one of its words or values has ${bytes} bytes, and the system takes ${LONGEST_WORD}`;
  return new SpawnError("invalid", `${action}: ${limit}. Write it to a file.`);
}
