/** kubectl for the demo: shown as it would be typed, checked, and asked again until something holds. @module */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { output, typed } from "./screen.ts";

const run = promisify(execFile);
/** Where paths in commands start: the checkout. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** kubectl of one cluster. Every method throws kubectl's own words if it fails. */
export interface Shell {
  /** Shows the command, runs it, shows what came back. */
  show(...args: string[]): Promise<string>;
  /** Shows and runs a command that reads `input`. */
  pipe(input: string, ...args: string[]): Promise<string>;
  /** Runs it without a word. */
  quiet(...args: string[]): Promise<string>;
  /** Reads a JSONPath of an object; `""` where there is nothing, or no such object. */
  read(object: string, path: string): Promise<string>;
  /** Asks again, 50 ms apart, until `read` gives what `holds` wants. @throws {Error} with the last answer after `seconds` */
  until(object: string, path: string, holds: (value: string) => boolean, seconds?: number): Promise<string>;
}

/** Makes the shell. `signal` ends waits and commands. */
export function makeShell(kubectl: string, kubeconfig: string, signal: AbortSignal): Shell {
  const call = async (args: string[], input = "") => {
    try {
      const running = run(kubectl, ["--kubeconfig", kubeconfig, ...args], { signal, cwd: ROOT });
      // A command may end before it has read this. Its exit code says how it went.
      running.child.stdin?.on("error", () => {}).end(input);
      return await running;
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`kubectl ${args.join(" ")}: ${(error as { stderr?: string }).stderr?.trim() || String(error)}`);
    }
  };
  const quiet = async (...args: string[]) => (await call(args)).stdout;
  const read = (object: string, path: string) => quiet("get", object, "--ignore-not-found", "-o", `jsonpath={${path}}`);
  return {
    quiet,
    read,
    show: async (...args) => {
      typed(`kubectl ${args.map(quoted).join(" ")}`);
      const { stdout, stderr } = await call(args);
      output(stdout || stderr);
      return stdout;
    },
    pipe: async (input, ...args) => {
      typed(`echo '${input}' | kubectl ${args.map(quoted).join(" ")}`);
      const { stdout, stderr } = await call(args, input);
      output(stdout || stderr);
      return stdout;
    },
    until: async (object, path, holds, seconds = 60) => {
      const deadline = performance.now() + seconds * 1000;
      for (;;) {
        const value = await read(object, path);
        if (holds(value)) return value;
        if (performance.now() > deadline) throw new Error(`${object} ${path} is still "${value}" after ${seconds} s`);
        await sleep(50, undefined, { signal });
      }
    },
  };
}

/** Writes a word as a shell reads it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
