/** The keeper as a process: `node packages/keeper/main.ts --kubeconfig F`; without the flag, the cluster it runs in. @module */
import { runProcess } from "../process/runprocess.ts";
import { HELP, readOptions } from "./options.ts";
import { runKeeper } from "./run.ts";

await runProcess(HELP, readOptions, runKeeper);
