/** Runs a program for a test, and shows all that it printed if it fails. @module */
import { execFile, type ExecFileOptions } from "node:child_process";

/** Most of each stream that an error shows, in characters: its end. */
const SHOWN = 20_000;

/**
 * Runs a program to its end.
 *
 * @returns what it printed to stdout
 * @throws {Error} with its exit code or signal and the end of both streams, if it does not end with 0
 */
export function ranProgram(program: string, args: string[], options: ExecFileOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 64 << 20, ...options, encoding: "utf8" }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const end = error.signal ? `signal ${error.signal}` : `${error.code}`;
      const parts = [["stdout", stdout], ["stderr", stderr]].map(([name, text]) =>
        `--- ${name}\n${text?.slice(-SHOWN)}`
      );
      reject(new Error(`${[program, ...args].join(" ")} ended with ${end}\n${parts.join("\n")}`));
    });
  });
}
