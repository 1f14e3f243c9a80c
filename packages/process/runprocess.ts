/**
 * Runs a process on Node or Deno: reads the command line and the environment, and does the work until a signal arrives.
 * @module
 */
import process from "node:process";
import type { Environment } from "./flags.ts";

/** True on Deno, false on Node. */
export const ON_DENO = process.versions["deno"] !== undefined;

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

/** Runs `stop` on SIGINT or SIGTERM, and then ends the process. A second signal ends it at once. */
export function stopOnSignal(stop: () => Promise<void>): void {
  let asked = false;
  const onSignal = () => {
    if (asked) exit(130);
    asked = true;
    stop().then(() => exit(0), () => exit(1));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    if (typeof Deno === "undefined") process.on(signal, onSignal);
    else Deno.addSignalListener(signal, onSignal);
  }
}

/** Ends the process with an exit code. */
export function exit(code: number): void {
  if (typeof Deno === "undefined") process.exit(code);
  else Deno.exit(code);
}

/** Returns the arguments after the script's name. */
export function commandLine(): string[] {
  return typeof Deno === "undefined" ? process.argv.slice(2) : Deno.args;
}

/**
 * Returns the value of an environment variable; undefined: it is not set, or Deno does not allow this process to read
 * it. This function does not ask for the permission.
 */
export function variable(name: string): string | undefined {
  if (typeof Deno === "undefined") return process.env[name];
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

/** The parts of Deno that this file uses, declared here because the type checker for Node does not know them. */
interface DenoProcess {
  args: string[];
  env: { get(name: string): string | undefined };
  permissions: { querySync(permission: { name: "env"; variable: string }): { state: string } };
  addSignalListener(signal: "SIGINT" | "SIGTERM", listener: () => void): void;
  exit(code: number): never;
}
declare const Deno: DenoProcess | undefined;
