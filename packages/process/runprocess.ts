/** Runs a process: reads the command line, and does the work until a signal arrives. @module */
import process from "node:process";
import type { Environment } from "./flags.ts";
import { commandLine, exit, stopOnSignal, variable } from "./serve.ts";

/**
 * Reads the command line and does the work until SIGINT or SIGTERM. An error ends the process with one sentence and
 * exit code 1, or 2 if the command line is invalid.
 *
 * @param read parses the arguments; undefined: they ask for help
 * @param run returns when `signal` has fired and the work has finished
 */
export async function runProcess<Options extends object>(
  help: string,
  read: (args: string[], env: Environment) => Options | undefined,
  run: (options: Options, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  let code = 2;
  try {
    const options = read(commandLine(), variable);
    code = 1;
    if (!options) return void process.stdout.write(help);
    const running = run(options, stop.signal);
    stopOnSignal(() => {
      stop.abort();
      return running;
    });
    await running;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    exit(code);
  }
}
