/** The keeper as a process: `node keeper/main.ts --kubeconfig F`; without the flag, the cluster it runs in. @module */
import process from "node:process";
import { buildPod } from "../hooks/sandbox/pod.ts";
import { buildPVCs } from "../hooks/sandbox/pvcs.ts";
import { buildService } from "../hooks/sandbox/service.ts";
import { policyName } from "../hooks/sandboxtemplate/networkpolicy.ts";
import { commandLine, exit, stopOnSignal } from "../lib/serve.ts";
import { HELP, readOptions } from "./options.ts";
import { runKeeper } from "./run.ts";

const stop = new AbortController();
try {
  const options = readOptions(commandLine());
  if (options.help) {
    process.stdout.write(HELP);
  } else {
    const running = runKeeper(options, { buildPod, buildPVCs, buildService, policyName }, stop.signal);
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
