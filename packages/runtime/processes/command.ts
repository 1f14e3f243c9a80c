/**
 * The command of a new process: checks it, composes its environment, finds its program, and passes scripts that are too
 * long for an argument.
 * @module
 */
import { Buffer } from "node:buffer";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import process from "node:process";
import { homeDirectory } from "../confine.ts";

/** Returns the bound variables for a process that starts now. It may wait for those that must come. */
export type BoundVariables = () => Record<string, string> | Promise<Record<string, string>>;

/** What to run. `cwd` is absolute. `env` is added to the environment of {@link composeEnvironment}. */
export interface Command {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
}

/**
 * Why no process was started. `invalid`: the command is empty, or contains a NUL byte or `=` where that is not allowed.
 */
export type SpawnErrorCode = "not-found" | "not-executable" | "bad-cwd" | "invalid" | "failed";

/** No process was started. */
export class SpawnError extends Error {
  readonly code: SpawnErrorCode;
  constructor(code: SpawnErrorCode, message: string) {
    super(message);
    this.name = "SpawnError";
    this.code = code;
  }
}

/** Checks that the command is not empty, and that the system can pass it on. @throws {SpawnError} */
export function checkCommand({ argv, env }: Command): void {
  if (!argv[0]) throw new SpawnError("invalid", "Cannot start a process: the command is empty");
  if (argv.some((part) => part.includes("\0"))) {
    throw new SpawnError("invalid", "Cannot start a process: the command has a NUL byte");
  }
  for (const [name, value] of Object.entries(env)) {
    if (!name || name.includes("=") || name.includes("\0") || value.includes("\0")) {
      const variable = JSON.stringify(name);
      throw new SpawnError(
        "invalid",
        `Cannot start a process: variable ${variable} has no name, or "=" in it, or a NUL byte`,
      );
    }
  }
}

/** The PATH of a container whose image sets none. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Keeps PATH for a login shell: deploy/runtime/Containerfile restores it after /etc/profile. */
const KEPT_PATH = "HOOKBOX_PATH";
const LOCALES = ["LC_ALL", "LC_CTYPE", "LANG"];

/**
 * Composes the environment of every process that the runtime starts: commands, interpreters and terminals. In order of
 * precedence: the variables of the command, which include bound ones; those of the image and the Pod, which the runtime
 * has inherited; and defaults for `PATH`, `HOME`, `TERM` and the locale. `PWD` is the working folder.
 */
export function composeEnvironment(
  { cwd, env }: Pick<Command, "cwd" | "env">,
  inherited: Record<string, string | undefined> = process.env,
): Record<string, string> {
  const { OLDPWD: _, ...given }: Record<string, string | undefined> = { ...inherited, PWD: cwd, ...env };
  const set = Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const locale = LOCALES.some((name) => set[name]) ? {} : { LANG: "C.UTF-8" };
  const composed = { PATH: DEFAULT_PATH, HOME: homeDirectory(), TERM: "xterm-256color", ...set, ...locale };
  return { ...composed, [KEPT_PATH]: composed.PATH };
}

/**
 * Returns the absolute path of a program. It is searched in `path`, unless the name contains a slash.
 *
 * @throws {SpawnError} `not-found`, or `not-executable` if programs of that name exist but must not be executed
 */
export async function findExecutable(name: string, cwd: string, path: string): Promise<string> {
  const candidates = name.includes("/")
    ? [resolve(cwd, name)]
    : path.split(":").map((folder) => isAbsolute(folder) ? join(folder, name) : resolve(cwd, folder, name));
  let refused = false;
  for (const candidate of candidates) {
    const found = await accessOf(candidate);
    if (found === "runs") return candidate;
    if (found === "refused") refused = true;
  }
  const quoted = JSON.stringify(name);
  if (refused) throw new SpawnError("not-executable", `Cannot run ${quoted}: permission denied`);
  throw new SpawnError("not-found", `Cannot run ${quoted}: not found`);
}

async function accessOf(file: string): Promise<"runs" | "refused" | "missing"> {
  try {
    if (!(await stat(file)).isFile()) return "refused";
  } catch {
    return "missing";
  }
  try {
    await access(file, constants.X_OK);
    return "runs";
  } catch {
    return "refused";
  }
}

/** Longest argument or variable in bytes, without its NUL: MAX_ARG_STRLEN of Linux, 32 pages. */
const LONGEST_WORD = 131_071;

/** How a command is started. */
interface PassedCommand {
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
export function passLong(argv: string[], env: Record<string, string>, fd: number): PassedCommand {
  for (const [name, value] of Object.entries(env)) {
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
