/** The binder as a process: `node packages/binder/main.ts --kubeconfig F`; without the flag, the cluster it runs in. @module */
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { BINDER, readOptions } from "./options.ts";
import { runBinder } from "./run.ts";

await runProcess(helpOf(BINDER), readOptions, runBinder);
