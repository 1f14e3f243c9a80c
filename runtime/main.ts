/** The runtime as a process: `node runtime/main.ts --root DIR`. Starts, and stops on a signal. @module */
import process from "node:process";
import { createLog } from "../lib/log.ts";
import { commandLine, exit, stopOnSignal } from "../lib/serve.ts";
import { HELP, readOptions } from "./options.ts";

try {
  const options = readOptions(commandLine(), process.env);
  if (options.help) {
    process.stdout.write(HELP);
  } else {
    // Loaded late: a mistake in the arguments is said at once.
    const { startRuntime } = await import("./start.ts");
    const runtime = await startRuntime(options, createLog(options.logLevel));
    stopOnSignal(runtime.stop);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  exit(1);
}
