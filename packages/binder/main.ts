/** Runs the binder as a process: `node packages/binder/main.ts`, in a cluster, or elsewhere with `--kubeconfig F`. @module */
import { helpOf } from "../process/flaghelp.ts";
import { runProcess } from "../process/runprocess.ts";
import { BINDER, readOptions } from "./options.ts";
import { runBinder } from "./run.ts";

await runProcess(helpOf(BINDER), readOptions, runBinder);
