/** Prints what the demo does, and runs kubectl's commands as a user would see them in a terminal. @module */
import { execFile } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { shellWord } from "../../packages/api/shellwords.ts";

const START = performance.now();
const IS_TERMINAL = process.stdout.isTTY && !process.env["NO_COLOR"];

/** kubectl for one cluster. Every method throws kubectl's error message if the command fails. */
export interface Shell {
  /** Shows the command, runs it, and shows its output. */
  show(...args: string[]): Promise<string>;
  /** Shows and runs a command that reads `input`. */
  pipe(input: string, ...args: string[]): Promise<string>;
  /** Applies YAML, and shows it as the output of `shown`. */
  apply(text: string, shown: string): Promise<string>;
  /** Runs a command without showing it. */
  run(...args: string[]): Promise<string>;
  /** Reads a JSONPath of an object; `""`: the field or the object does not exist. */
  read(object: string, path: string): Promise<string>;
  /** Calls `read` every 50 ms until `holds` accepts the value. @throws {Error} with the last value, if it never does */
  until(object: string, path: string, holds: (value: string) => boolean): Promise<string>;
}

const paint = (code: string, text: string) => IS_TERMINAL ? `\x1b[${code}m${text}\x1b[0m` : text;

/** Returns the seconds since the demo began, as `12.3 s`. */
export function elapsed(since = START): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** Prints a chapter's title, and when it begins. */
export function chapter(title: string): void {
  line(`\n${paint("1", `── ${title} `)}${paint("2", `(at ${elapsed()})`)}`);
}

/** Prints a command as a person would type it. */
export function typed(command: string): void {
  line(`${paint("36", "$")} ${command}`);
}

/** Prints the output of a command, indented. */
export function output(text: string): void {
  for (const part of text.trimEnd().split("\n")) line(`  ${part}`);
}

/** Prints a sentence between commands. */
export function note(text: string): void {
  line(`${paint("2", "#")} ${text}`);
}

/** Prints a statement that was just checked. */
export function held(text: string): void {
  line(`${paint("32", "✓")} ${text}`);
}

/** Checks that nothing has changed, and prints so. @throws {Error} if something has */
export function same(what: string, before: string | undefined, after: string | undefined): void {
  if (before !== after) throw new Error(`Not the same as before: ${what} was ${before} and is ${after}`);
  held(`the same as before: ${what}`);
}

/** Prints the step that failed. The demo ends after it. */
export function failed(text: string): void {
  line(`${paint("31", "✗")} ${text}`);
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}

const execute = promisify(execFile);
/** Relative paths in commands start at the root of the checkout. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** How the shell waits. */
interface Waiting {
  /** Longest wait of `until`, in seconds. @default 60 */
  seconds?: number;
  /** Called every few seconds during a wait. @throws {Error} if waiting is in vain */
  check?: () => Promise<void>;
  /** Returns what to add to the error of a wait that was too long. */
  explain?: () => Promise<string>;
}

/** How often `until` calls the check, in milliseconds. */
const CHECK_MS = 3000;

/** Creates the shell. @param globals options before each command @param signal aborts waits and commands */
export function makeShell(
  kubectl: string,
  globals: readonly string[],
  signal: AbortSignal,
  { seconds = 60, check = () => Promise.resolve(), explain = () => Promise.resolve("") }: Waiting = {},
): Shell {
  const call = async (args: string[], input = "") => {
    try {
      const running = execute(kubectl, [...globals, ...args], { signal, cwd: ROOT });
      // A command may end before it has read its input. Its exit code shows whether it succeeded.
      running.child.stdin?.on("error", () => {}).end(input);
      return await running;
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`kubectl ${args.join(" ")}: ${(error as { stderr?: string }).stderr?.trim() || String(error)}`);
    }
  };
  const run = async (...args: string[]) => (await call(args)).stdout;
  const read = (object: string, path: string) => run("get", object, "--ignore-not-found", "-o", `jsonpath={${path}}`);
  const feed = async (shown: string, input: string, args: string[]) => {
    typed(`${shown} | kubectl ${args.map(shellWord).join(" ")}`);
    const { stdout, stderr } = await call(args, input);
    output(stdout || stderr);
    return stdout;
  };
  return {
    run,
    read,
    show: async (...args) => {
      typed(`kubectl ${args.map(shellWord).join(" ")}`);
      const { stdout, stderr } = await call(args);
      output(stdout || stderr);
      return stdout;
    },
    pipe: (input, ...args) => feed(`echo '${input}'`, input, args),
    apply: (text, shown) => feed(shown, text, ["apply", "-f", "-"]),
    until: async (object, path, holds) => {
      const begun = performance.now();
      let checkAt = begun + CHECK_MS;
      for (;;) {
        const value = await read(object, path);
        if (holds(value)) return value;
        const now = performance.now();
        if (now > checkAt) {
          await check();
          checkAt = performance.now() + CHECK_MS;
        }
        if (now > begun + seconds * 1000) {
          throw new Error(`${object} ${path} is still "${value}" after ${seconds} s${await explain()}`);
        }
        await sleep(50, undefined, { signal });
      }
    },
  };
}
