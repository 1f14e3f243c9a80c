/** The binder as a process: `node packages/binder/main.ts --kubeconfig F`; without the flag, the cluster it runs in. @module */
import { runProcess } from "../process/runprocess.ts";
import { HELP, readOptions } from "./options.ts";
import { runBinder } from "./run.ts";

await runProcess(HELP, readOptions, runBinder);
