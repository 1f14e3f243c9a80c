/** The router as a process: `node router/main.ts --kubeconfig F --port P --authz-mode allow-all`. @module */
import process from "node:process";
import { commandLine, exit, stopOnSignal } from "../lib/serve.ts";
import { HELP } from "./help.ts";
import { readOptions } from "./options.ts";
import { runRouter } from "./run.ts";

const stop = new AbortController();
try {
  const options = readOptions(commandLine());
  if (!options) {
    process.stdout.write(HELP);
  } else {
    const running = runRouter(options, stop.signal);
    stopOnSignal(() => {
      stop.abort();
      return running;
    });
    await running;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  exit(1);
}
